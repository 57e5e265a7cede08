/** How long the newest scores of a model are kept after the last call that was settled, in ms. */
export const newestKeptMs = 7 * 24 * 60 * 60 * 1_000;

/** Leads of one model whose newest score is kept, some 120 bytes each; of further ones MongoDB is asked. */
export const mostNewestLeads = 500_000;
