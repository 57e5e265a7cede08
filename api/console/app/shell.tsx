import { useEffect, useRef, useState } from 'preact/hooks';
import { Route, Router, useLocation } from 'preact-iso';
import { mayActAs } from '../../../shared/contract/roles.js';
import { OrganisationMenu } from './organisation-menu.js';
import { pages, preloadPage } from './pages.js';
import { Icon } from './parts/icon.js';
import { SchemeChoice } from './parts/scheme-choice.js';
import { Refusals } from './refusals.js';
import { forgetPage } from './server/last-page.js';
import { OrganisationContext, type Session } from './server/session.js';
import { useAim } from './server/use-aim.js';

/**
 * The menu and the open page. Pages of an organisation carry `/o/ORG` before their address. Pages of the organisation
 * that the person signed in to work without it too.
 */
export function Shell({ session, signOut }: { readonly session: Session; readonly signOut: () => void }) {
  const { path, route } = useLocation();
  const isReadable = canDecode(path);
  const [isOpen, setOpen] = useState(false);
  const chosen = isReadable ? /^\/o\/([^/]+)/.exec(path)?.[1] : undefined;
  const organisationId = chosen === undefined ? (session.organisation_id ?? '') : decodeURIComponent(chosen);
  const base = chosen === undefined ? '' : `/o/${chosen}`;
  const role = session.organisations.find((each) => each.org_id === organisationId)?.role ?? session.role;
  useEffect(forgetPage, []);
  useEffect(() => setOpen(false), [path]);
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    focusPage();
  }, [path]);
  useAim();
  useEffect(() => {
    if (organisationId === '' && path === '/') route('/orgs', true);
  }, [organisationId, path, route]);

  const open = pages.filter((page) => mayActAs(role, page.role) && (page.isOfOperator || organisationId !== ''));
  return (
    <OrganisationContext.Provider value={{ session, organisationId, role, base }}>
      <div class="shell" onPointerOver={preload} onFocusIn={preload}>
        <button type="button" class="button skip" onClick={focusPage}>
          Skip to the page
        </button>
        <header class="side" data-open={isOpen || undefined}>
          <div class="side-head">
            <a class="brand" href={`${base}/`}>
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <rect width="24" height="24" rx="6" fill="currentColor" />
                <path d="M6 13h3v5H6zM10.5 9.5h3V18h-3zM15 6h3v12h-3z" fill="var(--on-accent)" />
              </svg>
              Leadscore
            </a>
            <button
              type="button"
              class="button menu-button"
              aria-expanded={isOpen}
              onClick={() => setOpen((before) => !before)}
            >
              Menu
            </button>
          </div>
          <OrganisationMenu />
          <nav class="menu" aria-label="Pages">
            {['', 'Connect', 'Settings', 'Operator'].map((group) => {
              const links = open.filter((page) => page.group === group && page.menu !== undefined);
              return links.length === 0 ? null : (
                <div key={group}>
                  {group && <h2>{group}</h2>}
                  {links.map(({ address, menu, icon, isOfOperator }) => {
                    const target = isOfOperator ? address : `${base}${address}`;
                    const isHere = address === '/' ? path === `${base}/` || path === base : path.startsWith(target);
                    return (
                      <a key={address} href={target} aria-current={isHere ? 'page' : undefined}>
                        {icon && <Icon of={icon} />}
                        {menu}
                      </a>
                    );
                  })}
                </div>
              );
            })}
          </nav>
          <div class="side-foot">
            <div>
              <strong>{session.person}</strong>
              <div class="soft small">{role}</div>
            </div>
            <SchemeChoice />
            <button type="button" class="button" onClick={signOut}>
              Sign out
            </button>
          </div>
        </header>
        {/* By the key nothing that was typed or loaded stays when the organisation changes. */}
        <main key={organisationId} class="page" tabIndex={-1}>
          <Refusals />
          {isReadable ? (
            <Router>
              {open.map(({ address, component, isOfOperator }) => (
                <Route key={address} path={isOfOperator ? address : `${base}${address}`} component={component} />
              ))}
              <Route default component={NoPage} />
            </Router>
          ) : (
            <NoPage />
          )}
        </main>
      </div>
    </OrganisationContext.Provider>
  );
}

/** Loads the page of the link under the pointer or with the focus. */
function preload({ target }: Event): void {
  const link = target instanceof Element ? target.closest('a') : null;
  if (link !== null && link.origin === location.origin) preloadPage(link.pathname);
}

/** Screen readers read the title of the page, and Tab goes on from there. A page that is loading has no title yet. */
function focusPage(): void {
  const page = document.querySelector('main');
  (page?.querySelector('h1') ?? page)?.focus();
}

/** Whether all escapes of an address are UTF-8. The router throws at others, such as `/leads/%E0`. */
function canDecode(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function NoPage() {
  return (
    <section class="card">
      <h1 tabIndex={-1}>No such page</h1>
      <p>This address has no page, or your role may not open it. Choose a page from the menu.</p>
    </section>
  );
}
