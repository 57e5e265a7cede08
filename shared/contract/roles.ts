/** The roles that a person of an organisation can have, least first. */
export const ownRoles = ['viewer', 'admin', 'owner'] as const;
/** All roles, least first. Each role may do all that the one before it may. */
export const roles = [...ownRoles, 'operator'] as const;
export type Role = (typeof roles)[number];

/** Whether a role may do what `needed` may do. */
export const mayActAs = (given: Role, needed: Role): boolean => roles.indexOf(given) >= roles.indexOf(needed);

/** How a person came in: a one-time link, OIDC, an operator's token, or the command line. */
export const ways = ['link', 'oidc', 'token', 'command line'] as const;
export type Way = (typeof ways)[number];
