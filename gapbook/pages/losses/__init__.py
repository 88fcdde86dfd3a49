"""What kills, power cuts and outages took, and what copies gave back."""
