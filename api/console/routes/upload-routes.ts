import type Router from '@koa/router';
import { AdminError } from '../../../shared/admin/admin-error.js';
import { createUpload } from '../../../shared/admin/models/upload-actions.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { mayActAs } from '../../../shared/contract/roles.js';
import { requestBundleCheck } from '../../../shared/messages/bundle-check-job.js';
import type { BodyAccount } from '../../request/body-memory.js';
import { readBody } from '../../request/read-body.js';
import { type ActionRoutesDeps, requestContext } from './action-routes.js';

const limits = { maxBodyBytes: 64 * 1024 * 1024, bodyTimeoutMs: 5 * 60 * 1000 };
/** Uploads in memory at once. */
const maxUploads = 2;
const unlimited: BodyAccount = { add: () => undefined, end: () => undefined };

/** Adds the upload of a bundle: a raw body, and then the check by a worker. */
export function addUploadRoute(router: Router, deps: Omit<ActionRoutesDeps, 'routes'>): void {
  let arriving = 0;
  router.post('/admin/v1/orgs/:org_id/uploads', deps.sessions.required(), async (context) => {
    const admin = await requestContext(context, deps, context.params.org_id);
    // Before the body is read: others must not fill the memory.
    if (!mayActAs(admin.actor.role, createUpload.role))
      throw new AdminError('forbidden', `This needs the role ${createUpload.role}.`);
    if (context.is('application/gzip', 'application/x-gzip', 'application/octet-stream') === false)
      throw new AdminError(
        'invalid_request',
        'Send the archive as the body: the Content-Type must be application/gzip.',
      );
    if (arriving >= maxUploads)
      throw new AdminError('rate_limited', 'Other uploads are arriving. Try again.', { retryAfterSeconds: 5 });
    arriving += 1;
    try {
      const bytes = await readBody(context.req, limits, unlimited);
      const upload = await runAction(createUpload, { org_id: context.params.org_id }, admin, bytes);
      await requestBundleCheck(await admin.redis(), upload.upload_id);
      context.status = 202;
      context.body = upload;
    } finally {
      arriving -= 1;
    }
  });
}
