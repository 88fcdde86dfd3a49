/** A transfer that was found impossible before anything was committed. */
export class Refused extends Error {}
