import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { httpCall } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { type Alias, bodyOf, expectDeprecated, lead, successors } from './aliases.js';

describe('410 of the aliases with LEGACY_ALIASES=gone', () => {
  let service: RunningService;
  let gateway: ServiceProcess;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    gateway = await service.startGateway({ LEGACY_ALIASES: 'gone' });
  });
  after(() => gateway?.stop());
  beforeEach(async () => {
    own = await workspace(service);
  });

  it('returns 410 with any key and any body, and counts nothing', async () => {
    for (const alias of Object.keys(successors) as Alias[]) {
      for (const [body, key] of [
        [bodyOf(own, alias), own.live],
        [bodyOf(own, alias), null],
        ['{', own.live],
      ] as const) {
        const reply = await own.call(alias, { body, url: gateway.url, key });
        expect(refused(reply, '410 gone').error.message).to.include(successors[alias]);
        expectDeprecated(reply, alias);
        expect(reply.headers.has('x-request-id')).to.equal(true);
      }
    }
    expect(await own.ledgerSum()).to.equal(0);
  });

  it('returns 410 to GET of an alias', async () => {
    for (const alias of Object.keys(successors) as Alias[]) {
      const reply = await httpCall(`${gateway.url}${alias}`, { method: 'GET' });
      refused(reply, '410 gone');
      expectDeprecated(reply, alias);
    }
  });

  it('returns 200 from /v1/score while the aliases are gone', async () => {
    scored(await own.score([lead], { url: gateway.url }));
  });
});
