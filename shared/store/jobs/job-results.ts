import type { Db } from 'mongodb';
import { errorsWithoutLead, resultsWithoutLead } from '../../files/erase-rows.js';
import type { WriteOptions } from '../connection/connect.js';
import { inTransaction } from '../connection/transaction.js';
import { type BlobKind, jobOfSlice, numberOfSlice, type SliceBytes } from './job-documents.js';
import { deflateQuickly, inflateMember, SliceStore } from './job-slices.js';
import { JobStore } from './jobs.js';

const timeoutMs = 10_000;

/** The results of bulk jobs, from which leads are erased. */
export class JobResultStore {
  private readonly jobs: JobStore;
  private readonly slices: SliceStore;

  constructor(private readonly database: Db) {
    this.jobs = new JobStore(database);
    this.slices = new SliceStore(database);
  }

  /**
   * Removes the data of a lead from results and lists of errors; its scores stay. Rows that are not scored yet stay,
   * too: they were sent to be scored.
   * @param lead.callIds live calls that scored the lead. Test calls leave no predictions, so all their slices are
   * searched
   * @throws errors of MongoDB
   */
  async eraseLead(lead: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly callIds: readonly string[];
  }): Promise<void> {
    const { organisationId, crmId, callIds } = lead;
    const ofTests = await this.jobs.ofTestKeys(organisationId);
    const ids = [
      ...(await this.slices.ofCalls(organisationId, callIds)),
      ...(await Promise.all(ofTests.map((id) => this.slices.withCalls(id)))).flat(),
    ];
    // One at a time, because a slice may have megabytes.
    for (const id of ids)
      await inTransaction(this.database.client, (options) => this.eraseFrom(id, crmId, options), { timeoutMs });
  }

  /** Rewrites a slice. The bytes of the following slices then begin elsewhere. */
  private async eraseFrom(id: string, crmId: string, options: WriteOptions): Promise<void> {
    const job = await this.jobs.findById(jobOfSlice(id), options);
    const slice = await this.slices.find(id, options);
    if (job?.file === undefined || slice?.outcome === undefined) return;
    const form = { shape: job.file.shape, options: job.options };
    const results = await this.rewrite(id, 'results', (text) => resultsWithoutLead(text, crmId, form), options);
    const errors = await this.rewrite(id, 'errors', (text) => errorsWithoutLead(text, crmId, form), options);
    if (results === undefined && errors === undefined) return;
    const { outcome } = slice;
    const sizes: SliceBytes = {
      result_bytes: results?.bytes ?? outcome.result_bytes,
      result_gzip_bytes: results?.gzipBytes ?? outcome.result_gzip_bytes,
      error_bytes: errors?.bytes ?? outcome.error_bytes,
      error_gzip_bytes: errors?.gzipBytes ?? outcome.error_gzip_bytes,
    };
    await this.slices.resize(id, { ...outcome, ...sizes }, options);
    const changes = differences(outcome, sizes);
    if (numberOfSlice(id) < job.settled.slices) await this.slices.moveAfter(id, changes, options);
    await this.jobs.resize(job._id, numberOfSlice(id) < job.settled.slices ? changes : undefined, options);
  }

  private async rewrite(
    id: string,
    kind: BlobKind,
    change: (text: string) => string | undefined,
    options: WriteOptions,
  ): Promise<{ readonly bytes: number; readonly gzipBytes: number } | undefined> {
    const stored = await this.slices.read(id, kind, options);
    const text = stored && change(String(await inflateMember(stored)));
    if (text === undefined) return undefined;
    const written = await deflateQuickly(text);
    await this.slices.put(id, kind, written, options);
    return { bytes: Buffer.byteLength(text), gzipBytes: written.length };
  }
}

const differences = (before: SliceBytes, after: SliceBytes): SliceBytes => ({
  result_bytes: after.result_bytes - before.result_bytes,
  result_gzip_bytes: after.result_gzip_bytes - before.result_gzip_bytes,
  error_bytes: after.error_bytes - before.error_bytes,
  error_gzip_bytes: after.error_gzip_bytes - before.error_gzip_bytes,
});
