import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { listOrganisationsOutput, organisationSchema } from '../../../shared/admin/schemas/organisations.js';
import { mayActAs, type Role } from '../../../shared/contract/roles.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { pages } from './pages.js';
import { Field } from './parts/forms/field.js';
import { Icon } from './parts/icon.js';
import { Load } from './parts/page.js';
import { useSome } from './parts/some.js';
import { useOrganisation } from './server/session.js';
import { useLoad } from './server/use-load.js';

interface Entry {
  readonly org_id: string;
  readonly name: string;
  readonly role: Role;
}

/** The organisation whose pages are open. People of several ones, and operators, choose another one here. */
export function OrganisationMenu() {
  const { session, organisationId, api } = useOrganisation();
  const { path } = useLocation();
  const own = session.organisations.find((each) => each.org_id === organisationId);
  const other = useLoad<ShapeOf<typeof organisationSchema>>(own || organisationId === '' ? undefined : api);
  const isOperator = session.role === 'operator';
  const name = own?.name ?? other.data?.name;
  const shown = (
    <span>
      <span class="name">{name ?? (organisationId || 'Choose an organisation')}</span>
      {name && <span class="id">{organisationId}</span>}
    </span>
  );
  if (!isOperator && session.organisations.length < 2) return <p class="who">{shown}</p>;
  // By the key another page finds the list hidden.
  return (
    <Disclosure key={path} shown={shown}>
      {isOperator ? <All /> : <Own />}
    </Disclosure>
  );
}

/** A button that shows and hides a list over the page. Escape, a press elsewhere and Tab beyond its end hide it. */
function Disclosure({ shown, children }: { readonly shown: ComponentChildren; readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  // After `useEffect`, a key that comes before the next frame would not hide the list.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const elsewhere = ({ target }: Event) => {
      if (target instanceof Node && box.current?.contains(target) === false) setOpen(false);
    };
    const pressed = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return;
      setOpen(false);
      button.current?.focus();
    };
    const end = new AbortController();
    document.addEventListener('pointerdown', elsewhere, end);
    document.addEventListener('focusin', elsewhere, end);
    document.addEventListener('keydown', pressed, end);
    return () => end.abort();
  }, [isOpen]);
  return (
    <div ref={box} class="organisations">
      <button
        ref={button}
        type="button"
        class="who"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen((before) => !before)}
      >
        <span class="visually-hidden">Organisation </span>
        {shown}
        <Icon of="down" />
      </button>
      {isOpen && (
        <nav id={id} aria-label="Organisations">
          {children}
        </nav>
      )}
    </div>
  );
}

/** The organisations of a member. */
function Own() {
  const { session } = useOrganisation();
  const { shown, more } = useSome(session.organisations, { words: 'organisations' });
  return (
    <>
      <Entries of={shown} />
      {more}
      {session.has_more_organisations && (
        <p class="small soft">The {session.organisations.length} used last. Others open by their address, /o/ID.</p>
      )}
    </>
  );
}

const listed = 50;

/** An operator may open every organisation: the first ones are listed, and any opens by its id. */
function All() {
  const addressIn = useAddressIn();
  const { route } = useLocation();
  const [id, setId] = useState('');
  const page = useLoad<ShapeOf<typeof listOrganisationsOutput>>(`/orgs?limit=${listed}`);
  const open = (event: Event) => {
    event.preventDefault();
    if (id.trim() !== '') route(addressIn(id.trim(), 'operator'));
  };
  return (
    <>
      <form class="row" onSubmit={open}>
        <Field label="Id of an organisation" value={id} set={setId} maxLength={100} isRequired />
        <button type="submit" class="button">
          Open
        </button>
      </form>
      <Load of={page}>
        {({ organisations, next }) => (
          <>
            {organisations.length === 0 && <p class="soft">No organisations yet.</p>}
            <Entries of={organisations.map((each) => ({ ...each, role: 'operator' as const }))} />
            {next && <p class="small soft">The first {listed}, in the order of their ids.</p>}
          </>
        )}
      </Load>
      <a href="/orgs">All organisations</a>
    </>
  );
}

function Entries({ of: entries }: { readonly of: readonly Entry[] }) {
  const addressIn = useAddressIn();
  const { organisationId } = useOrganisation();
  return (
    <ul>
      {entries.map(({ org_id: id, name, role }) => (
        <li key={id}>
          <a href={addressIn(id, role)} aria-current={id === organisationId ? 'true' : undefined}>
            {name}
            <span class="id">{role === 'operator' ? id : `${id}, ${role}`}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/**
 * The address of the same kind of page in an organisation, by the role there. Pages that are not in the menu become the
 * one above them; pages that the role may not open become the overview.
 */
function useAddressIn(): (organisationId: string, role: Role) => string {
  const { base } = useOrganisation();
  const { path } = useLocation();
  const section = `/${path.slice(base.length).split('/')[1] ?? ''}`;
  const page = pages.find(({ address, menu, isOfOperator }) => address === section && menu && !isOfOperator);
  return (organisationId, role) =>
    `/o/${encodeURIComponent(organisationId)}${page && mayActAs(role, page.role) ? page.address : '/'}`;
}
