import { writeFile } from 'node:fs/promises';
import { readableBytes, readableCount } from '../../terminal/readable-numbers.js';
import { type GeneratedLead, generateLeads } from '../lead-generator.js';
import { leadsCsv } from '../leads-csv.js';
import { type DemoDirectory, shortPath } from './demo-directory.js';
import type { DemoOptions } from './demo-options.js';
import type { DemoStage, RunningService } from './demo-stage.js';
import { createWorkspace, type Workspace } from './demo-workspace.js';
import type { Screen } from './screen.js';

/** What the tour works with. */
export interface TourParts {
  readonly options: DemoOptions;
  readonly directory: DemoDirectory;
  readonly stage: DemoStage;
  readonly screen: Screen;
  /** Ends the tour at its next step. */
  readonly signal: AbortSignal;
}

/**
 * Starts servers and service, and creates what a caller needs; a line on the screen for each.
 * @throws DemoProblem when something does not start; the signal's reason when it is aborted
 */
export async function setTheStage(
  { options, directory, stage, screen, signal }: TourParts,
  now: Date,
): Promise<{ service: RunningService; workspace: Workspace }> {
  const urls = await screen.step('servers', {
    doing: 'starting Redis and MongoDB',
    work: () => stage.startServers(),
    outcome: () => `a Redis and a MongoDB of its own, data in ${shortPath(directory.path)}`,
  });
  signal.throwIfAborted();
  const service = await screen.step('service', {
    doing: 'starting a gateway and workers',
    work: () => stage.startService(urls),
    outcome: ({ url, workers }) => `a gateway on ${url}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
  });
  signal.throwIfAborted();
  const workspace = await screen.step('workspace', {
    doing: 'creating an organisation, a model and a key',
    work: () =>
      createWorkspace({
        mongoUrl: urls.mongoUrl,
        config: stage.config,
        records: 2 * options.records + 1, // both passes and the call at the end
        now,
      }),
    outcome: ({ organisation, limit, model, fieldCount }) =>
      `organisation "${organisation.name}" on plan ${organisation.plan}: ${readableCount(limit)} records a month\n` +
      `model "${model.name}" ${model.version}, which reads ${fieldCount} CRM fields\n` +
      'a live API key, which is stored as a hash only',
  });
  signal.throwIfAborted();
  return { service, workspace };
}

/**
 * Makes up leads and writes them to a CSV file, as an export of a CRM.
 * @returns the leads, in the order of the file
 */
export async function writeLeads(
  { options, directory, screen, signal }: TourParts,
  now: Date,
): Promise<GeneratedLead[]> {
  const { records, seed } = options;
  const { leads } = await screen.step('leads', {
    doing: 'making them up',
    work: async () => {
      const made = generateLeads({ seed, count: records, now });
      const csv = leadsCsv(made.map((lead) => lead.record));
      await writeFile(directory.file('leads'), csv);
      return { leads: made, bytes: Buffer.byteLength(csv) };
    },
    outcome: ({ bytes }) =>
      `${readableCount(records)} made-up CRM records, untidy as real ones, in\n` +
      `${directory.shown('leads')} (${readableBytes(bytes)})`,
  });
  signal.throwIfAborted();
  return leads;
}
