import { newId } from '../../contract/identifiers.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { accessHash, ConsoleAccess, newAccessSecret } from '../../store/console/console-access.js';
import { defineAction } from '../action.js';
import { AdminError, invalid } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { nothing } from '../schemas/members.js';
import {
  createLinkInput,
  createLinkOutput,
  createTokenInput,
  createTokenOutput,
  listTokensOutput,
  revokeTokenInput,
} from '../schemas/people.js';

const linkMs = 15 * 60 * 1000;

/** Makes a one-time link with which a person signs in. The secret is behind `#`, so that it reaches no log. */
export const createLink = defineAction({
  name: 'link.create',
  description: 'Make a one-time link to the console for a person, valid for 15 minutes.',
  role: 'owner',
  effect: 'change',
  input: createLinkInput,
  output: createLinkOutput,
  async run({ database, session, clock, actor, consoleUrl, record }, input) {
    const { org_id: organisationId, role } = input;
    const person = input.name.trim();
    if ((role === 'operator') !== (organisationId === undefined))
      throw invalid(
        'org_id',
        role === 'operator' ? 'must be absent: an operator sees every organisation' : 'is missing',
      );
    if (organisationId !== undefined)
      await requireOrganisation(new OrganisationStore(database, session), organisationId);
    const secret = newAccessSecret();
    const expiresAt = new Date(clock.now() + linkMs);
    const org = organisationId === undefined ? {} : { org: organisationId };
    const created_by = actor.name;
    const link = { _id: accessHash(secret), person, role, ...org, created_by, expires_at: expiresAt };
    await new ConsoleAccess(database, session).addLink(link);
    await record({ ...(organisationId === undefined ? {} : { organisationId }), after: { person, role } });
    const url = consoleUrl ?? (await new ConsoleAccess(database).address());
    if (url === undefined)
      throw new AdminError('unavailable', 'No console was ever started, so that no link leads to it. Start one');
    return { person, role, url: `${url}/login#${secret}`, expires_at: expiresAt.toISOString() };
  },
});

/** Makes a token with the rights of an operator, for the operator's own programs. */
export const createToken = defineAction({
  name: 'token.create',
  description: 'Make a token for programs of the operator. Its secret is in this reply alone.',
  role: 'operator',
  effect: 'change',
  input: createTokenInput,
  output: createTokenOutput,
  async run({ database, session, clock, keySettings, record }, input) {
    const secret = `${(await keySettings()).brand}_console_${newAccessSecret()}`;
    const now = new Date(clock.now());
    const name = input.name.trim();
    const tokenId = newId('tok');
    await new ConsoleAccess(database, session).addToken(
      secret,
      { person: name, role: 'operator', token_id: tokenId },
      now,
    );
    await record({ target: tokenId, after: { name } });
    return { token_id: tokenId, name, secret, created_at: now.toISOString() };
  },
});

export const listTokens = defineAction({
  name: 'token.list',
  description: "List the operator's tokens.",
  role: 'operator',
  effect: 'read',
  input: nothing,
  output: listTokensOutput,
  async run({ database }) {
    const tokens = await new ConsoleAccess(database).tokens();
    return {
      tokens: tokens.map(({ token_id = '', person, created_at }) => ({
        token_id,
        name: person,
        created_at: created_at.toISOString(),
      })),
    };
  },
});

export const revokeToken = defineAction({
  name: 'token.revoke',
  description: 'Revoke a token of the operator at once.',
  role: 'operator',
  effect: 'change',
  input: revokeTokenInput,
  output: nothing,
  async run({ database, session, record }, { token_id: tokenId }) {
    const removed = await new ConsoleAccess(database, session).removeToken(tokenId);
    if (removed === undefined) throw new AdminError('not_found', `There is no token ${tokenId}`);
    await record({ target: tokenId, before: { name: removed.person } });
    return {};
  },
});
