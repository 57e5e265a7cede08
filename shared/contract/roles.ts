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

/** The rights of an API key. A key without scopes may do everything, as each key did that was made before scopes. */
export const scopes = ['score', 'read', 'erase', 'outcomes', 'jobs'] as const;
export type Scope = (typeof scopes)[number];

/** Some scopes in the order of `scopes`, which texts and presets have. */
export const orderedScopes = (some: readonly string[]): Scope[] => scopes.filter((scope) => some.includes(scope));

/** The right that an endpoint needs: a scope, or any key at all. */
export type NeededScope = Scope | 'any';

/** Sets of scopes by their use. The first one is for a key that lies in another program. */
export const scopePresets = [
  {
    name: 'CRM or automation tool',
    scopes: ['score', 'outcomes'],
    meaning: 'It can score records and report outcomes, and read nothing.',
  },
  {
    name: 'Program',
    scopes: ['score', 'read', 'outcomes', 'jobs'],
    meaning: 'It can do everything but erase leads.',
  },
  { name: 'Everything', scopes: undefined, meaning: 'It can also erase leads.' },
] as const satisfies readonly { name: string; scopes: readonly Scope[] | undefined; meaning: string }[];

/** The set of scopes of a key; undefined if it is none of the known ones. */
export const presetOf = (scopes: readonly Scope[] | undefined): (typeof scopePresets)[number] | undefined =>
  scopePresets.find((each) => each.scopes?.join() === scopes?.join());

/** Whether a key may use an endpoint. */
export const allows = (key: { readonly scopes?: readonly Scope[] }, needed: NeededScope): boolean =>
  needed === 'any' || key.scopes === undefined || key.scopes.includes(needed);
