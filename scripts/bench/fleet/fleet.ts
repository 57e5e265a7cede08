import { projectFile } from '../../../shared/process/project-root.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { startMongo } from '../../servers/mongo-server.js';
import { stoppedAtEnd } from '../../servers/run-to-end.js';
import type { ReportSection, SectionOptions } from '../report/tables.js';
import { type FleetData, openFleet } from './fleet-data.js';
import { fleetReport } from './fleet-report.js';
import { FleetRun } from './fleet-run.js';
import { fleetSize } from './fleet-size.js';
import { fleetTables } from './fleet-tables.js';

/** Many organisations and models on databases of several sizes; see docs/scaling.md. */
const allTables = 'fleet';
export const fleetRowNames: readonly string[] = [allTables, ...fleetTables];

/** As the other rows: all data of the full fleet, with indexes, have some 4 GB. */
const cacheSizeGB = 4;

/**
 * Measures some tables of a fleet, or all. Its generated databases stay in `.local/fleet`, so that a second run starts
 * at once.
 * @throws Error if the service fails, answers wrongly or is too slow for the offered load
 */
export async function fleetSection(names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const { isQuick, bundlePath, onEnd } = options;
  const startMs = performance.now();
  const say = (line: string) =>
    options.say(`${((performance.now() - startMs) / 1000).toFixed(0).padStart(4)} s  ${line}`);
  const size = fleetSize(isQuick);
  const directory = projectFile(`.local/fleet/${size.name}`);
  const mongod = await stoppedAtEnd(onEnd, startMongo({ directory, cacheSizeGB }));
  const { client } = await connectMongo(mongod.url, { name: 'fleet-bench' });
  onEnd(() => client.close());
  const data: FleetData[] = [];
  const chosen = fleetTables.filter((name) => names.includes(allTables) || names.includes(name));
  for (const predictions of size.predictions)
    data.push(await openFleet(client, { size, predictions, like: data[0], bundlePath }, say));
  return fleetReport(size, await new FleetRun({ size, mongod, data, say, onEnd }).measure(chosen));
}
