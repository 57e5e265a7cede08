import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcConfig } from '../../../shared/config/config.js';
import type { OidcIdentity } from '../../../shared/store/console/members.js';

/** The secrets of one attempt, which the browser keeps until the provider sends it back. */
export interface OidcAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A person whom the provider has signed in. */
export interface OidcPerson extends OidcIdentity {
  readonly name: string;
}

const timeoutSeconds = 5;

/** The code flow with PKCE and a nonce against one identity provider. */
export class OidcClient {
  private found: Promise<Configuration> | undefined;

  /** @param redirectUri where the provider sends browsers back to */
  constructor(
    private readonly config: OidcConfig,
    private readonly redirectUri: string,
  ) {}

  /** @throws when the provider does not answer */
  async begin(): Promise<{ readonly url: URL; readonly attempt: OidcAttempt }> {
    const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(await this.provider(), {
      redirect_uri: this.redirectUri,
      scope: 'openid email profile',
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
      state: attempt.state,
      nonce: attempt.nonce,
    });
    return { url, attempt };
  }

  /**
   * Exchanges the code of a reply for the identity of the person.
   * @param query of the address to which the provider sent the browser
   * @throws when the reply is forged, replayed or refused, or the provider does not answer
   */
  async finish(query: string, { state, nonce, verifier }: OidcAttempt): Promise<OidcPerson> {
    const provider = await this.provider();
    const tokens = await authorizationCodeGrant(provider, new URL(`${this.redirectUri}?${query}`), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('the provider sent no ID token');
    const { iss, sub } = claims;
    // Many providers send the address only from the endpoint of user information.
    const more = claims.email === undefined ? await fetchUserInfo(provider, tokens.access_token, sub) : {};
    const described: Readonly<Record<string, unknown>> = { ...claims, ...more };
    const { email, email_verified: isVerified, name } = described;
    const address = typeof email === 'string' && email !== '' ? email.toLowerCase() : undefined;
    const verifiedEmail = isVerified === true ? address : undefined;
    return { iss, sub, verifiedEmail, name: typeof name === 'string' && name !== '' ? name : (address ?? sub) };
  }

  /** Asked once it is needed, and again after a failure: a provider that is down must not stop the console. */
  private provider(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.config;
    this.found ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: timeoutSeconds,
      // The configuration accepts plain HTTP on loopback alone.
      execute: issuer.startsWith('http:') ? [allowInsecureRequests] : [],
    });
    this.found.catch(() => {
      this.found = undefined;
    });
    return this.found;
  }
}
