import type { Attack } from '../caller/attack.js';
import { bodies } from './bodies.js';
import { connections } from './connections.js';
import { jobs } from './jobs.js';
import { keys } from './keys.js';
import { leads } from './leads.js';
import { names } from './names.js';
import { scoring } from './scoring.js';
import { texts } from './texts.js';

/** The attacks of each file. To add one, add an entry to the list of its file. */
export const attackFamilies = { texts, names, bodies, scoring, leads, keys, jobs, connections } as const;

/** All attacks, in the order of the report. Each runs in turn, as a new trial organisation, beside the victim. */
export const attacks: readonly Attack[] = Object.values(attackFamilies).flat();
