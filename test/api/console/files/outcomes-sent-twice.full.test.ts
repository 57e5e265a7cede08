import { Queue } from 'bullmq';
import { expect } from 'chai';
import type { ServiceProcess } from '../../../../scripts/servers/service-process.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { gradingQueueName } from '../../../../shared/messages/grading-job.js';
import { queuePrefix } from '../../../../shared/redis/keys.js';
import type { StoredOutcome } from '../../../../shared/store/validation/outcomes.js';
import { type ConsoleService, startGateway } from '../../../support/admin/console-service.js';
import { outcomesByConsole, outcomesByKey } from '../../../support/admin/outcome-ways.js';
import { sharedConsole } from '../../../support/admin/shared-console.js';
import { eventually } from '../../../support/eventually.js';
import { startTimeoutMs } from '../../../support/service/service.js';

/** As many leads as the plan may have outcomes of. */
const leads = 10_000;
const repeated = 10;
const header = 'crm_id,converted,at\n';
const rows = Array.from({ length: leads + repeated }, (_, index) => {
  const lead = index % leads;
  // Only the date of a first conversion without one is that of its import.
  return `L${lead},${lead % 2},${lead % 4 === 1 ? '' : '2026-03-01'}\n`;
});
const half = rows.length / 2;

describe('a file of outcomes that is sent twice', function () {
  this.timeout(4 * startTimeoutMs);
  let service: ConsoleService;
  let gateway: ServiceProcess;

  before(async () => {
    service = await sharedConsole();
    gateway = await startGateway(service);
  });
  after(() => gateway?.stop());

  /** The requests for a grade of an organisation, which are taken away. */
  async function takeGradeRequests(org: string): Promise<number> {
    const queue = new Queue(gradingQueueName, { connection: service.redis, prefix: queuePrefix });
    const own = (await queue.getDelayed()).filter(({ data }) => data.organisationId === org);
    for (const request of own) await request.remove();
    await queue.close();
    return own.length;
  }

  it('changes nothing, uses up no limit and asks for no grade, by a key and in parts by the console', async () => {
    const { org_id: org } = await service.act(createOrganisation, { name: 'Acme', plan: 'free' });
    const byKey = await outcomesByKey(service, { org, gatewayUrl: gateway.url ?? '' });
    const { send: byConsole } = await outcomesByConsole(service, { org });
    const stored = () =>
      service.database.collection<StoredOutcome>('outcomes').find({ org }).sort({ _id: 1 }).toArray();
    const whole = Buffer.from(header + rows.join(''));

    const first = await byKey(whole, '');
    expect(first.body).to.include({ accepted: rows.length, known: 0, unknown: leads, repeated });
    const before = await stored();
    expect(before).to.have.length(leads);
    await eventually(async () => expect(await takeGradeRequests(org)).to.equal(1));

    expect(await byKey(whole, ''), 'the same reply').to.deep.equal(first);
    expect(await stored()).to.deep.equal(before);

    const part = (some: readonly string[]) => Buffer.from(header + some.join(''));
    const later = `line=${half + 2}&header=${header.length}`;
    const parts = [await byConsole(part(rows.slice(0, half)), ''), await byConsole(part(rows.slice(half)), later)];
    for (const { status, body } of parts) {
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body).to.include({ accepted: half, refused: 0 });
    }
    expect(await stored()).to.deep.equal(before);
    expect(await takeGradeRequests(org), 'the console has asked for none before').to.equal(0);

    const joined = await byKey(Buffer.from(header + rows.join('') + rows.join('')), '');
    expect(joined.body).to.include({ accepted: 2 * rows.length, unknown: leads, repeated: leads + 2 * repeated });
    expect(await stored()).to.deep.equal(before);
    const refused = await byKey(Buffer.from(`${header}another,1,\n`), '');
    expect(refused.status, 'a further lead').to.equal(400);
  });
});
