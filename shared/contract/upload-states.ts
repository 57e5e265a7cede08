/** The states of an uploaded bundle. `received` waits for a worker, and `passed` can be imported. */
export const uploadStates = ['received', 'reading', 'scoring', 'passed', 'failed', 'imported'] as const;
export type UploadState = (typeof uploadStates)[number];
