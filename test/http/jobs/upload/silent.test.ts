import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { RawConnection } from '../../../support/http/raw-connection.js';
import { refused } from '../../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { inputCall, jobOf, newJob, patchHeaders, storedUpload, tus } from '../job-calls.js';

/** Shorter than the timeout of bodies, which is 1.5 s here. */
const betweenBytesMs = 250;

describe('slow uploads', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('shortTimeouts');
  });
  beforeEach(async () => {
    own = await workspace(service);
    jobId = (await newJob(own)).job_id;
  });

  const begin = async (length: number): Promise<RawConnection> => {
    const connection = await RawConnection.open(service.url());
    const head = ['Host: test', `Authorization: Bearer ${own.live.secret}`, `Content-Length: ${length}`];
    connection.send([`PUT /v1/jobs/${jobId}/input HTTP/1.1`, ...head, '', ''].join('\r\n'));
    return connection;
  };

  it('end with 400 after a silence, and keep each byte that arrived', async () => {
    const file = randomBytes(1024 * 1024 + 70_000);
    const connection = await begin(2 * file.length);
    connection.send(file);
    const reply = await connection.reply();
    expect(refused(reply, '400 bad_request').error.message).to.include('No byte arrived');
    expect(reply.headers.get('connection')).to.equal('close');
    connection.destroy();
    expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
    const head = await inputCall(own, jobId, 'HEAD', { headers: tus });
    expect(head.headers.get('upload-offset')).to.equal(String(file.length));
    const headers = patchHeaders(file.length);
    expect((await inputCall(own, jobId, 'PATCH', { bytes: file, headers })).status).to.equal(204);
    expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
  });

  it('may take longer than the timeout of other bodies while bytes arrive', async () => {
    const text = 'a,b\n1,2\n';
    const connection = await begin(text.length);
    for (const byte of text) {
      connection.send(byte);
      await pause(betweenBytesMs);
    }
    expect(jobOf(await connection.reply()).state).to.equal('reading');
    connection.destroy();
    expect((await storedUpload(service, jobId)).toString()).to.equal(text);
  });
});
