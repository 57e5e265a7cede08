import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ServiceProcess } from '../../../../scripts/servers/service-process.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import type { StoredOutcome } from '../../../../shared/store/validation/outcomes.js';
import { fileCases } from '../../../shared/files/reading/file-cases.js';
import { type ConsoleService, startGateway } from '../../../support/admin/console-service.js';
import { type OutcomeWay, outcomesByConsole, outcomesByKey } from '../../../support/admin/outcome-ways.js';
import { sharedConsole } from '../../../support/admin/shared-console.js';
import { leaveOut } from '../../../support/leave-out.js';
import { startTimeoutMs } from '../../../support/service/service.js';

const folder = projectFile('../shared/cases');
const cases = ['.', 'jobs', 'jobs/good'].flatMap((part) =>
  existsSync(join(folder, part))
    ? readdirSync(join(folder, part))
        .filter((name) => /\.(csv|jsonl)(\.\w+)?$|\.tar\.gz$/.test(name))
        .map((name) => join(folder, part, name))
    : [],
);

/** The columns of outcomes that a case has, and those of a file of leads. */
const columnsOf: Readonly<Record<string, string>> = {
  'outcomes-15-character-ids.csv': 'crm_id=Id&converted=Converted&at=Closed',
  'outcomes-formula-ids.csv': 'converted=converted',
  'csv-ids-in-scientific-notation.csv': 'crm_id=Lead%20ID&converted=Lead%20Source&won_values=Referral&others_lost=true',
  'csv-salesforce-report-with-footer.csv':
    'crm_id=Lead%20ID&converted=Lead%20Source&won_values=Referral&others_lost=true',
};
const columnsOfLeads = 'converted=Lead%20Source&won_values=Referral&others_lost=true';

describe('a file of outcomes that is brought', function () {
  this.timeout(3 * startTimeoutMs);
  let service: ConsoleService;
  let gateway: ServiceProcess;

  before(async () => {
    service = await sharedConsole();
    gateway = await startGateway(service);
  });
  after(() => gateway?.stop());

  const outcomesOf = async (org: string): Promise<StoredOutcome[]> =>
    await service.database.collection<StoredOutcome>('outcomes').find({ org }).sort({ crm_id: 1 }).toArray();

  describe('by the console and by a key', () => {
    let [inConsole, inApi]: [string, string] = ['', ''];
    let byConsole: Awaited<ReturnType<typeof outcomesByConsole>>;
    let byKey: OutcomeWay;

    before(async () => {
      [inConsole, inApi] = [await service.newOrganisation(), await service.newOrganisation()];
      byConsole = await outcomesByConsole(service, { org: inConsole });
      byKey = await outcomesByKey(service, { org: inApi, gatewayUrl: gateway.url ?? '' });
    });

    /** Brings a file both ways. @returns the reply */
    async function brought(bytes: Buffer, query: string) {
      const [seen, sent] = await Promise.all([byConsole.send(bytes, query), byKey(bytes, query)]);
      expect(seen).to.deep.equal(sent);
      const { status, body } = sent;
      const preview = await byConsole.preview(bytes, previewQueryOf(query));
      if (status === 200) expect(preview.body).to.include({ rows: body.rows });
      else expect(preview).to.deep.equal({ status, body });
      const [own, others] = await Promise.all([outcomesOf(inConsole), outcomesOf(inApi)]);
      const shown = (all: readonly StoredOutcome[]) => all.map(({ crm_id, converted }) => [crm_id, converted]);
      expect(shown(own)).to.deep.equal(shown(others));
      return sent;
    }

    /** The page asks for the values of a column before their meanings are known. */
    function previewQueryOf(query: string): string {
      const chosen = new URLSearchParams({ converted: 'converted' });
      for (const [name, column] of new URLSearchParams(query))
        if (['crm_id', 'converted', 'at'].includes(name)) chosen.set(name, column);
      return chosen.toString();
    }

    if (cases.length === 0)
      it('gives the same reply or the same sentence', function () {
        leaveOut(this, 'the reported files are not beside the project', 'put them into ../shared/cases');
      });
    for (const path of cases) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      it(`gives the same reply or the same sentence: ${name}`, async () => {
        const { status } = await brought(readFileSync(path), columnsOf[name] ?? columnsOfLeads);
        expect(status).to.be.oneOf([200, 422]);
      });
    }

    for (const [title, file] of Object.entries(fileCases)) {
      if (file.format === 'jsonl') continue;
      const isBroken = 'message' in file;
      it(`gives the same ${isBroken ? 'sentence' : 'reply'}: ${title}`, async () => {
        const query = file.crmId === undefined ? '' : `crm_id=${encodeURIComponent(file.crmId)}`;
        const { status, body } = await brought(Buffer.from(file.file), query);
        expect(status).to.equal(isBroken ? 422 : 200);
        if ('message' in file) expect(body.message).to.equal(`${file.message}.`);
      });
    }
  });
});
