/** The value of a line of what Redis answers to INFO; undefined where there is no such line. */
export const factOf = (information: string, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(information)?.[1];
