import { expect } from 'chai';
import { createKey } from '../../../../shared/admin/organisations/key-actions.js';
import { AuditLog } from '../../../../shared/store/console/audit-log.js';
import type { ConsoleService } from '../../../support/admin/console-service.js';
import { sharedConsole } from '../../../support/admin/shared-console.js';
import { startTimeoutMs } from '../../../support/service/service.js';

describe('the audit log as CSV', function () {
  this.timeout(startTimeoutMs);
  let service: ConsoleService;
  let org: string;

  before(async () => {
    service = await sharedConsole();
    org = await service.newOrganisation();
    await service.act(createKey, { org_id: org, name: 'HubSpot', kind: 'live' }, { name: 'Eve' });
    const log = new AuditLog(service.database);
    const entry = { org, actor: { name: 'Eve', way: 'link' as const }, action: 'org.resume', request_id: 'r' };
    for (let minute = 0; minute < 1_200; minute += 1)
      await log.append({ ...entry, at: new Date(Date.UTC(2026, 0, 1, 0, minute)) }, undefined);
  });

  it('has all pages of what is filtered, with sentences, for a viewer', async () => {
    const viewer = await service.signIn('viewer', org);
    const linesOf = async (filter: string) => {
      const { status, headers, body } = await viewer('GET', `/admin/v1/orgs/${org}/audit?format=csv${filter}`);
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8');
      expect(headers.get('content-disposition')).to.include(`audit-${org}.csv`);
      const [head, ...lines] = String(body.text).trimEnd().split('\n');
      expect(head).to.match(/^at,person,way,address,sentence,reason,action,/);
      return lines;
    };
    const eves = await linesOf('&actor=Eve');
    expect(eves).to.have.length(1_201);
    expect(new Set(eves).size).to.equal(1_201);
    expect(eves[0]).to.include(',Eve created the live key HubSpot,,key.create,');
    expect(await linesOf('&actor=Eve&kind=key')).to.have.length(1);
    expect(await linesOf('&to=2026-01-01&kind=org')).to.have.length(1_200);
    expect(await linesOf('&from=2099-01-01')).to.deep.equal([]);
  });

  it('refuses a wrong filter, a foreign organisation and a stranger before it begins a file', async () => {
    const viewer = await service.signIn('viewer', org);
    const other = await service.newOrganisation('Other');
    const get = async (id: string, filter = '') =>
      await viewer('GET', `/admin/v1/orgs/${id}/audit?format=csv${filter}`);
    expect((await get(org, '&from=2026-02-30')).status).to.equal(422);
    expect((await get(other)).status).to.equal(404);
    expect((await service.anyone('GET', `/admin/v1/orgs/${org}/audit?format=csv`)).status).to.equal(401);
    const plain = await viewer('GET', `/admin/v1/orgs/${org}/audit?format=xml`);
    expect(plain.status).to.equal(422);
  });
});
