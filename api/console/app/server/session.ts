import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { sessionOutput } from '../../../../shared/admin/schemas/people.js';
import { mayActAs, type Role } from '../../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';

export type Session = ShapeOf<typeof sessionOutput>;

/** The organisation whose pages are open, and the signed-in person. */
export interface OpenOrganisation {
  readonly session: Session;
  /** Empty while an operator has not chosen an organisation. */
  readonly organisationId: string;
  /** The role of the person in this organisation. */
  readonly role: Role;
  /** Put before the addresses of pages: `/o/ID`, or empty for the organisation that the person signed in to. */
  readonly base: string;
}

export const OrganisationContext = createContext<OpenOrganisation | undefined>(undefined);

/** @throws Error outside of the signed-in shell */
export function useOrganisation(): OpenOrganisation & { readonly api: string; may(needed: Role): boolean } {
  const open = useContext(OrganisationContext);
  if (open === undefined) throw new Error('This page needs a session.');
  const api = `/orgs/${encodeURIComponent(open.organisationId)}`;
  return { ...open, api, may: (needed) => mayActAs(open.role, needed) };
}
