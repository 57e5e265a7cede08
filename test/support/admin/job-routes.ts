interface OwnRoute {
  readonly method: string;
  readonly path: string;
  readonly name: string;
}

/** The routes of bulk jobs that are not in the table of actions. */
export const ownJobRoutes = (
  [
    ['post', '', 'job.create'],
    ['get', '/:job_id', 'job.show'],
    ['get', '/:job_id/failures', 'job.failures'],
    ['post', '/:job_id/pause', 'job.pause'],
    ['post', '/:job_id/resume', 'job.resume'],
    ['post', '/:job_id/cancel', 'job.cancel'],
    ['delete', '/:job_id', 'job.delete'],
    ['head', '/:job_id/input', 'job.upload_offset'],
    ['patch', '/:job_id/input', 'job.upload'],
    ['post', '/:job_id/input', 'job.upload_by_post'],
    ['get', '/:job_id/results', 'job.results'],
    ['get', '/:job_id/errors', 'job.errors'],
  ] as const
)
  .map(([method, path, name]): OwnRoute => ({ method, path: `/orgs/:org_id/jobs${path}`, name }))
  .concat(
    { method: 'post', path: '/orgs/:org_id/stored-jobs', name: 'job.create_stored' },
    { method: 'post', path: '/orgs/:org_id/files/preview', name: 'job.preview' },
  );

/** The headers of a PATCH that sends bytes of a file. */
export const pieceHeaders = (offset: number, length: number): Record<string, string> => ({
  ...{ 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' },
  ...{ 'upload-offset': String(offset), 'upload-length': String(length) },
});
