import { expect } from 'chai';
import { refused } from '../../../support/http/score-reply.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { inputCall, jobOf, newJob, patchHeaders, storedUpload } from '../job-calls.js';

describe('X-HTTP-Method-Override', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    jobId = (await newJob(own)).job_id;
  });

  const post = (text: string, headers: Record<string, string>) =>
    inputCall(own, jobId, 'POST', { bytes: Buffer.from(text), headers });
  const overridden = (method: string, offset: number, length?: number) => ({
    ...patchHeaders(offset, length),
    'x-http-method-override': method,
  });

  it('makes a POST of an input a PATCH, up to the end of the file', async () => {
    const first = await post('a,b\n', overridden('PATCH', 0, 8));
    expect(first.status, first.text).to.equal(204);
    expect(first.headers.get('upload-offset')).to.equal('4');
    expect(first.headers.get('tus-resumable')).to.equal('1.0.0');
    const conflict = await post('1,2\n', overridden('PATCH', 0));
    expect(refused(conflict, '409 job_state_conflict').error.message).to.include('Upload-Offset must be 4');
    expect((await post('1,2\n', overridden('patch', 4))).status).to.equal(204);
    expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
    expect((await storedUpload(service, jobId)).toString()).to.equal('a,b\n1,2\n');
  });

  it('gets 405 from an input if it is absent or names another method, with what to send', async () => {
    for (const method of ['', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH, PUT']) {
      const reply = await post('a,b\n', overridden(method, 0, 4));
      const { message } = refused(reply, '405 method_not_allowed').error;
      expect(message).to.include('curl -T FILE').and.include('X-HTTP-Method-Override: PATCH');
      expect(reply.headers.get('allow')).to.equal('PUT, HEAD, PATCH, OPTIONS');
    }
    expect(await storedUpload(service, jobId)).to.have.length(0);
    expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('awaiting_upload');
  });

  it('changes no other call', async () => {
    const headers = (method: string) => ({ 'x-http-method-override': method });
    const read = (method: string) => own.call(`/v1/jobs/${jobId}`, { headers: headers(method) });
    for (const method of ['PATCH', 'DELETE']) expect(jobOf(await read(method)).job_id).to.equal(jobId);
    const body = { model_id: own.model._id };
    expect(jobOf(await own.call('/v1/jobs', { body, headers: headers('PATCH') }), 201).state) //
      .to.equal('awaiting_upload');
    const put = await inputCall(own, jobId, 'PUT', {
      bytes: Buffer.from('a\n1\n'),
      headers: { ...headers('PATCH'), 'content-type': 'text/csv' },
    });
    expect(jobOf(put).state).to.equal('reading');
    const canceled = await own.call(`/v1/jobs/${jobId}/cancel`, { method: 'POST', headers: headers('PATCH') });
    expect(jobOf(canceled).state).to.equal('canceled');
    expect((await own.call(`/v1/scores/L-1`, { method: 'GET', headers: headers('DELETE') })).status).to.equal(404);
  });
});
