/** The page of this tab at which a session was missing. The sign-in goes on there. */
const name = 'page';
const signIn = '/login';

/** Called by the sign-in page, which stands at the address of the page that needs a session, or at its own. */
export function rememberPage(): void {
  if (location.pathname !== signIn) sessionStorage.setItem(name, location.pathname + location.search);
}

/** Its path and query. It may begin with two slashes, which an address on its own would take for another host. */
export const rememberedPage = (): string => sessionStorage.getItem(name) ?? '/';

/** A later sign-in, such as after a sign-out, begins at the overview. */
export const forgetPage = (): void => sessionStorage.removeItem(name);
