import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { RawConnection } from '../../../support/http/raw-connection.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { newJob, settleSlices } from '../job-calls.js';

const megabyte = 1024 * 1024;
/** More than the system buffers for a connection. */
const slices = 24;
/** Shorter than the time that this service gives a client that reads nothing, which is 1.5 s. */
const betweenReadsMs = 300;

describe('slow downloads of results', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('shortTimeouts');
    own = await workspace(service);
    jobId = (await newJob(own)).job_id;
    await settleSlices(
      service,
      jobId,
      Array.from({ length: slices }, () => ({ results: 'x'.repeat(megabyte), errors: '' })),
      { header: '' },
    );
  });

  const open = async (): Promise<RawConnection> => {
    const connection = await RawConnection.open(service.url());
    const head = ['Host: test', `Authorization: Bearer ${own.live.secret}`];
    connection.send([`GET /v1/jobs/${jobId}/results HTTP/1.1`, ...head, '', ''].join('\r\n'));
    return connection;
  };

  it('go on for longer than the timeout of other replies while they make progress', async function () {
    this.timeout(60_000);
    const { socket, closed } = await open();
    const startMs = performance.now();
    let bytes = 0;
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    // A megabyte or more at a time, in at least four seconds.
    while (bytes < slices * megabyte && !isClosed) {
      const before = bytes;
      socket.resume();
      while (bytes - before < 1.5 * megabyte && bytes < slices * megabyte && !isClosed) await pause(2);
      socket.pause();
      await pause(betweenReadsMs);
    }
    socket.destroy();
    expect(bytes).to.be.above(slices * megabyte);
    expect(performance.now() - startMs).to.be.above(3_000);
  });

  it('are cut when they stop', async () => {
    const { socket, closed } = await open();
    let bytes = 0;
    socket.removeAllListeners('data');
    await new Promise<void>((resolve) => {
      socket.once('data', (chunk: Buffer) => {
        bytes += chunk.length;
        socket.pause();
        resolve();
      });
    });
    await pause(4_000);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.resume();
    await closed;
    expect(bytes).to.be.below(slices * megabyte);
  });
});
