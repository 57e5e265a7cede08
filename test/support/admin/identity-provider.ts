import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A person whom the provider knows. */
interface ProviderAccount {
  readonly email: string;
  readonly email_verified: boolean;
  readonly name?: string;
}

/** A real identity provider on loopback. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The accounts by `sub`. A test may change them. */
  readonly accounts: Map<string, ProviderAccount>;
  /**
   * Signs a person in as a browser would, and follows the redirections.
   * @param address an authorization address of the provider
   * @returns the address of the client to which the provider redirects
   */
  signIn(address: string, sub: string): Promise<string>;
  stop(): Promise<void>;
}

const [clientId, clientSecret] = ['leadscore', 'secret-of-the-client'];

/** @param redirectUri the one address to which the provider may redirect; known after the console has started */
export async function identityProvider(redirectUri: () => string): Promise<IdentityProvider> {
  const { default: Provider } = await import('oidc-provider');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts = new Map<string, ProviderAccount>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: ['http://127.0.0.1/placeholder'],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...accounts.get(sub) }),
    }),
  });
  // The console chooses its port when it starts, after the provider.
  provider.Client.prototype.redirectUriAllowed = (uri: string) => uri === redirectUri();
  server.on('request', provider.callback());
  return {
    ...{ issuer, clientId, clientSecret, accounts },
    signIn: (address, sub) => signIn(issuer, address, sub),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const maxRedirections = 12;

/** Fills in the provider's pages for login and consent. */
async function signIn(issuer: string, address: string, sub: string): Promise<string> {
  const cookies = new Map<string, string>();
  let [url, form]: [string, URLSearchParams | undefined] = [address, undefined];
  for (let step = 0; step < maxRedirections; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    for (const line of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const text = await reply.text();
    form = undefined;
    const location = reply.headers.get('location');
    if (location !== null) {
      url = new URL(location, issuer).href;
      if (!url.startsWith(issuer)) return url;
      continue;
    }
    const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
    if (action === undefined) throw new Error(`the provider answered ${reply.status}: ${text.slice(0, 300)}`);
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? '';
    form = new URLSearchParams(prompt === 'login' ? { prompt, login: sub, password: 'any' } : { prompt });
    url = new URL(action, issuer).href;
  }
  throw new Error('the provider redirects without an end');
}
