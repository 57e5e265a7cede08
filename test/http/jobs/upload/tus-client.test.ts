import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { RawConnection, requestBytes } from '../../../support/http/raw-connection.js';
import { refused } from '../../../support/http/score-reply.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { inputCall, jobOf, newJob, patchHeaders, storedUpload, tus } from '../job-calls.js';
import { expectWholeUpload } from './tus-upload.js';

describe('tus-js-client', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  const bytes = 2_000_000;
  const cutAt = [700_000, 1_600_000];

  it('uploads a file in pieces through two broken connections', async () => {
    await expectWholeUpload(own, { bytes, cutAt, chunkSize: 500_000 });
  });

  it('uploads a file in one request that breaks twice', async () => {
    await expectWholeUpload(own, { bytes, cutAt });
  });

  it('uploads a file by POST with overridePatchMethod, through two broken connections', async () => {
    await expectWholeUpload(own, { bytes, cutAt, chunkSize: 500_000, overridePatchMethod: true });
  });
});

describe('input.bytes of a job', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    jobId = (await newJob(own, { input: { bytes: 8 } })).job_id;
  });

  const put = (text: string) => inputCall(own, jobId, 'PUT', { bytes: Buffer.from(text) });
  const patch = (text: string, from: number, length?: number) =>
    inputCall(own, jobId, 'PATCH', { bytes: Buffer.from(text), headers: patchHeaders(from, length) });
  const state = async () => jobOf(await own.call(`/v1/jobs/${jobId}`)).state;

  it('is in its reply, and the Upload-Length of HEAD', async () => {
    expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).input).to.include({ bytes_received: 0, bytes: 8 });
    const { headers } = await inputCall(own, jobId, 'HEAD', { headers: tus });
    expect(headers.get('upload-length')).to.equal('8');
    expect(headers.get('upload-offset')).to.equal('0');
    expect(headers.get('upload-defer-length')).to.equal(null);
  });

  it('ends an upload by PATCH without Upload-Length, and refuses another length', async () => {
    expect((await patch('a,b\n', 0)).status).to.equal(204);
    expect(refused(await patch('1,2\n3', 4), '400 bad_request').error.message).to.include('beyond');
    expect(refused(await patch('1', 4, 9), '400 bad_request').error.message).to.include('Upload-Length was 8');
    expect(await state()).to.equal('awaiting_upload');
    expect((await patch('1,2\n', 4)).status).to.equal(204);
    expect(await state()).to.equal('reading');
    expect((await storedUpload(service, jobId)).toString()).to.equal('a,b\n1,2\n');
  });

  it('refuses a PUT of another length, and takes the right one', async () => {
    for (const text of ['a,b\n1,2', 'a,b\n1,2\n\n'])
      expect(refused(await put(text), '400 bad_request').error.message).to.include('must have 8 bytes');
    expect(await storedUpload(service, jobId)).to.have.length(0);
    expect(jobOf(await put('a,b\n1,2\n')).state).to.equal('reading');
  });

  it('refuses a PUT in chunks of another length, and takes the right one', async () => {
    const headers = { Authorization: `Bearer ${own.live.secret}`, 'Transfer-Encoding': 'chunked' };
    const send = async (body: string, rest = '') => {
      const connection = await RawConnection.open(service.url());
      connection.send(requestBytes({ method: 'PUT', path: `/v1/jobs/${jobId}/input`, headers, body }));
      if (rest !== '') await pause(200);
      connection.send(rest);
      const reply = await connection.reply();
      connection.destroy();
      return reply;
    };
    for (const body of ['7\r\na,b\n1,2\r\n0\r\n\r\n', '9\r\na,b\n1,2\n\n\r\n0\r\n\r\n'])
      expect(refused(await send(body), '400 bad_request').error.message).to.include('must have 8 bytes');
    // All allowed bytes have arrived before the gateway knows that there are more.
    const tooLate = await send('8\r\na,b\n1,2\n\r\n', '1\r\nx\r\n0\r\n\r\n');
    expect(refused(tooLate, '400 bad_request').error.message).to.include('must have 8 bytes');
    const { headers: head } = await inputCall(own, jobId, 'HEAD', { headers: tus });
    expect(head.get('upload-length')).to.equal('8');
    expect(await state()).to.equal('awaiting_upload');
    expect(jobOf(await send('8\r\na,b\n1,2\n\r\n0\r\n\r\n')).state).to.equal('reading');
    expect((await storedUpload(service, jobId)).toString()).to.equal('a,b\n1,2\n');
  });
});
