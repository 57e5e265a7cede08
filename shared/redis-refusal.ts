/** Whether an error is what Redis answered with, and not that of a connection that broke or of an answer that did not come. */
export const isRedisRefusal = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';
