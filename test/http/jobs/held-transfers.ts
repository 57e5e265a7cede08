import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { RawConnection } from '../../support/http/raw-connection.js';
import type { TestWorkspace } from '../../support/service/workspace.js';
import { jobOf, newJob, settleSlices } from './job-calls.js';

/** Connections that hold transfers at one gateway. */
export interface HeldTransfers {
  /** Ends all of them, and waits until they are closed. */
  end(): Promise<void>;
}

const gateway = 0;
const longer = 16;
/** More than the system buffers for a connection. */
const largeBytes = 24 * 1024 * 1024;

/** Begins uploads at the first gateway that send one byte and no more. */
export async function holdUploads(own: TestWorkspace, count: number): Promise<HeldTransfers> {
  const connections: RawConnection[] = [];
  for (let index = 0; index < count; index += 1) {
    const { job_id: jobId } = await newJob(own);
    connections.push(await sendRequest(own, 'PUT', `/v1/jobs/${jobId}/input`, [`Content-Length: ${longer}`]));
    await eventually(async () => {
      expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).input.bytes).to.equal(longer);
    }, 10_000);
  }
  return { end: () => endAll(connections) };
}

/** Begins downloads of one large file at the first gateway, and reads only their first bytes. */
export async function holdDownloads(own: TestWorkspace, count: number): Promise<HeldTransfers> {
  const { job_id: jobId } = await newJob(own);
  await settleSlices(own.service, jobId, [{ results: 'x'.repeat(largeBytes), errors: '' }]);
  const connections: RawConnection[] = [];
  for (let index = 0; index < count; index += 1) {
    const connection = await sendRequest(own, 'GET', `/v1/jobs/${jobId}/results`, []);
    connections.push(connection);
    await new Promise<void>((resolve) => {
      connection.socket.once('data', () => {
        connection.socket.pause();
        resolve();
      });
    });
  }
  return { end: () => endAll(connections) };
}

async function sendRequest(
  { service, live }: TestWorkspace,
  method: string,
  path: string,
  headers: readonly string[],
): Promise<RawConnection> {
  const connection = await RawConnection.open(service.url(gateway));
  const head = ['Host: test', `Authorization: Bearer ${live.secret}`, ...headers];
  connection.send([`${method} ${path} HTTP/1.1`, ...head, '', method === 'PUT' ? 'x' : ''].join('\r\n'));
  return connection;
}

async function endAll(connections: readonly RawConnection[]): Promise<void> {
  for (const connection of connections) connection.destroy();
  await Promise.all(connections.map(({ closed }) => closed));
}
