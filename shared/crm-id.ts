import { isLongerThan } from './text-length.js';

/** Characters of a crm_id at most. */
export const longestCrmId = 255;

/** Whether a text can be a crm_id: no longer than that, without NUL or half of a surrogate pair. */
export const isCrmId = (text: string): boolean =>
  !isLongerThan(text, longestCrmId) && !text.includes('\0') && text.isWellFormed();
