"""The book: chapters executed, their prose checked, all of it rendered."""
