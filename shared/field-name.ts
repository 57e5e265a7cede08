import { foldedText } from './normal-text.js';

/**
 * A field name without regard to case, spaces, `_` and `-`: "Lead Source", "lead_source" and "LEADSOURCE" are one.
 * @param name a field name of a manifest or a key of a record
 */
export function foldFieldName(name: string): string {
  return foldedText(name).replace(/[\s_-]+/g, '');
}
