import { expect } from 'chai';
import { RawConnection, rawCall, requestBytes } from '../../../support/http/raw-connection.js';
import { refused } from '../../../support/http/score-reply.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { inputCall, jobOf, newJob, patchHeaders, storedUpload } from '../job-calls.js';

/** As long as a body that no test sends. */
const unsent = { 'Content-Length': String(100 * 1024 * 1024) } as const;
const byPost = { 'X-HTTP-Method-Override': 'PATCH' } as const;
const formTypes = [
  'multipart/form-data; boundary=------------------------d74496d66958873e',
  'Multipart/Form-Data',
  'multipart/mixed; boundary=x',
  // `curl -F` with `-H "Content-Type: text/csv"`.
  'text/csv; boundary=------------------------d74496d66958873e',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=UTF-8',
] as const;

describe('an upload whose Content-Type is that of a form', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    jobId = (await newJob(own)).job_id;
  });

  const head = (path: string, method: string, headers: Readonly<Record<string, string>>) =>
    rawCall(service.url(), {
      method,
      path,
      headers: { Authorization: `Bearer ${own.live.secret}`, ...unsent, ...headers },
    });

  for (const [title, method, headers] of [
    ['PUT', 'PUT', {}],
    ['PATCH', 'PATCH', patchHeaders(3)],
    ['POST', 'POST', {}],
    ['POST with X-HTTP-Method-Override', 'POST', { ...patchHeaders(3), ...byPost }],
  ] as const) {
    it(`gets 422 with the right command from ${title} of an input, before the body is read, and changes nothing`, async () => {
      expect((await inputCall(own, jobId, 'PATCH', { bytes: Buffer.from('abc'), headers: patchHeaders(0, 9) })).status) //
        .to.equal(204);
      const job = await own.call(`/v1/jobs/${jobId}`);
      // More of them than a workspace may have uploads: none holds a permit.
      for (const type of formTypes) {
        const reply = await head(`/v1/jobs/${jobId}/input`, method, { ...headers, 'content-type': type });
        const { message } = refused(reply, '422 bad_request').error;
        expect(message).to.include(type.split(';')[0]).and.include('send the file itself: curl -T FILE');
      }
      expect(jobOf(await own.call(`/v1/jobs/${jobId}`))).to.deep.equal(jobOf(job));
      expect((await storedUpload(service, jobId)).toString()).to.equal('abc');
    });
  }

  for (const [path, method] of [
    ['an input', 'PUT'],
    ['/v1/jobs', 'POST'],
  ] as const)
    it(`gets 422 from ${method} of ${path} when the caller sends all of it before it reads`, async () => {
      const body = Buffer.alloc(8_000_000, 'a,b\n');
      const headers = { Authorization: `Bearer ${own.live.secret}`, 'Content-Type': formTypes[0] };
      const address = path === '/v1/jobs' ? path : `/v1/jobs/${jobId}/input`;
      for (let count = 0; count < 5; count += 1) {
        const connection = await RawConnection.open(service.url());
        connection.socket.pause();
        const bytes = requestBytes({ method, path: address, headers, body });
        await new Promise((resolve) => connection.socket.write(bytes, resolve));
        connection.socket.resume();
        refused(await connection.reply(), '422 bad_request');
        connection.destroy();
      }
      expect(await storedUpload(service, jobId)).to.have.length(0);
    });

  it('gets 401 with a wrong key', async () => {
    const headers = { 'content-type': formTypes[0], authorization: 'Bearer no' };
    refused(await inputCall(own, jobId, 'PUT', { bytes: Buffer.from('x'), headers }), '401 invalid_api_key');
  });

  it('gets 422 from POST /v1/jobs before the body is read, as a file does, and creates nothing', async () => {
    const before = await own.call('/v1/jobs');
    for (const type of [...formTypes, 'text/csv', 'application/octet-stream']) {
      const reply = await head('/v1/jobs', 'POST', { 'Content-Type': type });
      const { message } = refused(reply, '422 bad_request').error;
      expect(message).to.include('application/json').and.include('send the file itself').and.include('curl -T FILE');
    }
    expect((await own.call('/v1/jobs')).text).to.equal(before.text);
  });
});

describe('an upload whose Content-Type is that of a file', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  for (const type of ['text/csv', 'text/csv; charset=utf-8; header=present', 'application/octet-stream', 'text/plain'])
    it(`is stored: ${type}`, async () => {
      const { job_id: jobId } = await newJob(own);
      const headers = { 'content-type': type };
      jobOf(await inputCall(own, jobId, 'PUT', { bytes: Buffer.from('a,b\n1,2\n'), headers }));
      expect((await storedUpload(own.service, jobId)).toString()).to.equal('a,b\n1,2\n');
    });
});
