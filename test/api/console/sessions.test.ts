import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ConsoleSession } from '../../../shared/store/console/console-access.js';
import {
  type Caller,
  type ConsoleReply,
  type ConsoleService,
  consoleService,
} from '../../support/admin/console-service.js';
import { startTimeoutMs } from '../../support/service/service.js';

const session = '/admin/v1/session';
const codeOf = ({ body }: ConsoleReply): unknown => (body.error as { code?: unknown } | undefined)?.code;

describe('a session of the console', () => {
  let service: ConsoleService;
  let organisationId: string;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-console-'));
    const log = openSync(join(directory, 'log'), 'w');
    service = await consoleService({ LOG_LEVEL: 'debug' }, log);
    closeSync(log);
    organisationId = await service.newOrganisation();
  });
  after(async () => {
    await service.leave();
    await rm(directory, { recursive: true, force: true });
  });

  const sessions = () => service.database.collection<ConsoleSession>('console_sessions');

  it('begins by a one-time link, whose preview does not use it, and is stored as a hash', async () => {
    const link = await service.newLink('admin', organisationId);
    for (const _ of [1, 2]) {
      const { status, body } = await service.anyone('POST', `${session}/preview`, { body: { link } });
      expect({ status, ...body }).to.include({ status: 200, person: 'Ada', role: 'admin', organisation_name: 'Acme' });
    }
    const reply = await service.anyone('POST', session, { body: { link } });
    expect(reply.status).to.equal(200);
    const cookie = reply.headers.get('set-cookie') ?? '';
    expect(cookie).to.match(/^leadscore_console=[\w-]{43}; path=\/; expires=.*; samesite=lax; httponly$/i);
    const secret = /=([\w-]{43});/.exec(cookie)?.[1] ?? '';
    const stored = JSON.stringify([
      await sessions().find().toArray(),
      await service.database.collection('console_links').find().toArray(),
      await service.audit(organisationId),
    ]);
    expect(stored).to.not.include(secret).and.not.include(link);
    const again = await service.anyone('POST', session, { body: { link } });
    expect([again.status, codeOf(again)]).to.deep.equal([401, 'link_invalid']);
    expect((await service.audit(organisationId))[0]).to.include({ action: 'session.begin' });
    const { body } = await service.anyone('GET', session, { headers: { cookie: `leadscore_console=${secret}` } });
    expect(body).to.include({ person: 'Ada', role: 'admin', organisation_id: organisationId, way: 'link' });
  });

  it('begins once when twenty browsers send one link at the same time', async () => {
    const link = await service.newLink('owner', organisationId);
    const before = await sessions().countDocuments();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => service.anyone('POST', session, { body: { link } })),
    );
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1);
    expect(replies.filter((reply) => codeOf(reply) === 'link_invalid')).to.have.length(19);
    expect(await sessions().countDocuments()).to.equal(before + 1);
  });

  it('does not begin by an expired, malformed or forged link', async () => {
    const link = await service.newLink('owner', organisationId);
    await service.database
      .collection('console_links')
      .updateMany({}, { $set: { expires_at: new Date(Date.now() - 1) } });
    for (const forged of [link, 'x', `${link}x`, 'a'.repeat(43)])
      expect(codeOf(await service.anyone('POST', session, { body: { link: forged } }))).to.equal('link_invalid');
    for (const body of [{ link: { $gt: '' } }, { link: '' }, {}, { link, more: 1 }])
      expect(codeOf(await service.anyone('POST', session, { body }))).to.equal('invalid_request');
  });

  it('ends by sign-out for good, also while requests of it are under way', async () => {
    const ada = await service.signIn('viewer', organisationId);
    await sessions().updateMany({}, { $set: { expires_at: new Date(Date.now() + 5 * 60_000) } });
    const underWay = Array.from({ length: 10 }, () => ada('GET', session));
    expect((await ada('DELETE', session)).status).to.equal(200);
    await Promise.all(underWay);
    const after = await ada('GET', session);
    expect([after.status, codeOf(after)]).to.deep.equal([401, 'sign_in_required']);
  });

  it('is asked of a person who opens an address of the API by the sign-in page, and of a script by an error', async () => {
    const path = `/admin/v1/orgs/${organisationId}/usage?format=csv`;
    const opened = await fetch(`${service.url}${path}`, {
      headers: { 'sec-fetch-dest': 'document' },
      redirect: 'manual',
    });
    expect([opened.status, opened.headers.get('location')]).to.deep.equal([303, '/login']);
    for (const headers of [{ 'sec-fetch-dest': 'empty' }, { authorization: 'Bearer x', 'sec-fetch-dest': 'document' }])
      expect((await service.anyone('GET', path, { headers })).status).to.equal(401);
  });

  it('ends after twelve idle hours, and seven days after it began', async () => {
    const ada = await service.signIn('viewer', organisationId);
    const of = async () => (await sessions().find().sort({ created_at: -1 }).limit(1).next()) ?? undefined;
    const begun = await of();
    const hours = (at: Date | undefined) => Math.round(((at?.getTime() ?? 0) - Date.now()) / 3_600_000);
    expect([hours(begun?.expires_at), hours(begun?.ends_at)]).to.deep.equal([12, 168]);
    const put = (set: Partial<ConsoleSession>) => sessions().updateOne({ _id: begun?._id ?? '' }, { $set: set });
    await put({ expires_at: new Date(Date.now() + 60_000) });
    expect((await ada('GET', session)).status).to.equal(200);
    expect(hours((await of())?.expires_at)).to.equal(12);
    await put({ expires_at: new Date(Date.now() + 60_000), ends_at: new Date(Date.now() + 3_600_000) });
    await ada('GET', session);
    expect(hours((await of())?.expires_at)).to.equal(1);
    await put({ expires_at: new Date(Date.now() - 1) });
    expect((await ada('GET', session)).status).to.equal(401);
  });

  it('is listed with its address and last use, and ended by its id, never by that of others', async () => {
    const [own, other] = [await service.newOrganisation('Own'), await service.newOrganisation('Other')];
    const owner = await service.signIn('owner', own);
    const viewer = await service.signIn('viewer', own);
    const foreign = await service.signIn('owner', other);
    const operator = await service.signIn('operator');
    type Listed = { session_id: string; role: string; address: string; last_used_at: string; is_current: boolean };
    const listed = async (caller: Caller, path: string) =>
      (await caller('GET', `/admin/v1${path}`)).body.sessions as Listed[];
    const ofOwn = await listed(owner, `/orgs/${own}/sessions`);
    expect(ofOwn.map(({ role, is_current: isCurrent }) => [role, isCurrent])).to.have.deep.members([
      ['owner', true],
      ['viewer', false],
    ]);
    for (const { session_id: id, address, last_used_at: last } of ofOwn) {
      expect([id, address]).to.satisfy(
        ([text]: string[]) => /^ses_\w{16}$/.test(text ?? '') && address === '127.0.0.1',
      );
      expect(Date.now() - Date.parse(last)).to.be.within(0, 120_000);
    }
    expect(JSON.stringify(ofOwn)).to.not.include((await sessions().findOne({ org: own }))?._id);
    const [ofViewer] = await listed(viewer, '/sessions/own');
    expect(ofViewer).to.include({ role: 'viewer', is_current: true });
    const end = async (caller: Caller, path: string) => (await caller('DELETE', `/admin/v1${path}`)).status;
    const id = ofViewer?.session_id;
    const [ofForeign] = await listed(foreign, '/sessions/own');
    const operators = await listed(operator, '/sessions/operators');
    const [ofOperator] = operators;
    expect(operators.every(({ role }) => role === 'operator')).to.equal(true);
    expect(await listed(await service.program(), '/sessions/own')).to.deep.equal([]);
    for (const each of [ofViewer, ofForeign, ofOperator]) expect(each?.session_id).to.match(/^ses_\w{16}$/);
    for (const [caller, path] of [
      [owner, `/sessions/own/${id}`],
      [owner, `/orgs/${own}/sessions/${ofForeign?.session_id}`],
      [owner, `/orgs/${own}/sessions/${ofOperator?.session_id}`],
      [foreign, `/orgs/${other}/sessions/${id}`],
      [operator, `/sessions/operators/${id}`],
    ] as const)
      expect(await end(caller, path), path).to.equal(404);
    expect(await end(viewer, `/orgs/${own}/sessions/${id}`)).to.equal(403);
    expect(await end(owner, `/orgs/${own}/sessions/${id}`)).to.equal(200);
    expect((await viewer('GET', session)).status).to.equal(401);
    const [entry] = await service.audit(own);
    expect(entry).to.include({ action: 'session.revoke', target: id });
    expect(await end(operator, `/sessions/operators/${ofOperator?.session_id}`)).to.equal(200);
  });

  it('notes a use once a minute, also when it cannot be put off any more', async () => {
    const ada = await service.signIn('viewer', organisationId);
    const last = async () => await sessions().find().sort({ created_at: -1 }).limit(1).next();
    const begun = await last();
    const [before, soon] = [new Date(Date.now() - 120_000), new Date(Date.now() + 60_000)];
    await sessions().updateOne(
      { _id: begun?._id ?? '' },
      { $set: { last_used_at: before, expires_at: soon, ends_at: soon, address: '192.0.2.1' } },
    );
    await ada('GET', session);
    const used = await last();
    expect(used?.last_used_at?.getTime()).to.be.above(before.getTime() + 60_000);
    expect([used?.address, used?.expires_at]).to.deep.equal(['127.0.0.1', soon]);
    await ada('GET', session);
    expect((await last())?.last_used_at).to.deep.equal(used?.last_used_at);
  });

  it('is limited to twenty requests a second', async () => {
    const { cookie } = await service.signIn('viewer', organisationId);
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => service.anyone('GET', session, { headers: { cookie } })),
    );
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).to.be.within(1, 180);
    expect(refused[0]?.headers.get('retry-after')).to.equal('1');
  });

  it('is no token, a token is no cookie, and a revoked token ends at once', async () => {
    const { cookie } = await service.signIn('operator');
    const secret = cookie.split('=')[1] ?? '';
    const asToken = await service.anyone('GET', session, { headers: { authorization: `Bearer ${secret}` } });
    expect(asToken.status).to.equal(401);
    const program = await service.program();
    expect((await program('GET', session)).body).to.include({ way: 'token', role: 'operator', expires_at: null });
    const { tokens } = (await program('GET', '/admin/v1/tokens')).body as { tokens: { token_id: string }[] };
    const created = await program('POST', '/admin/v1/tokens', { body: { name: 'other' } });
    const asCookie = { cookie: `leadscore_console=${String(created.body.secret)}` };
    expect((await service.anyone('GET', session, { headers: asCookie })).status).to.equal(401);
    for (const { token_id: id } of tokens) await program('DELETE', `/admin/v1/tokens/${id}`);
    expect((await program('GET', session)).status).to.equal(401);
  });

  it('makes an address wait that tries many unknown links, and no secret reaches the log', async () => {
    const statuses = new Set<number>();
    const secret = 'this-is-a-secret-of-a-link-that-nothing-may-log';
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const reply = await service.anyone('POST', session, { body: { link: `${secret}${attempt}` } });
      statuses.add(reply.status);
    }
    expect([...statuses]).to.deep.equal([401, 429]);
    const log = await readFile(join(directory, 'log'), 'utf8');
    expect(log).to.include('console ready').and.not.include(secret).and.not.include('leadscore_console');
  });
});
