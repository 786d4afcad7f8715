import * as z from 'zod'
import { AutoRunUse } from './auto-run-use.ts'

/**
 * Reach of a module: its own machine, machines that it can contact, what a radio receives, or the
 * public internet.
 */
const MODULE_REACHES = ['host', 'lan', 'radio', 'internet'] as const
export type ModuleReach = (typeof MODULE_REACHES)[number]

/** Path prefix of questions that run a module on a cell: POST with `ModuleQuestion`. */
export const MODULE_QUESTION_PATH = '/module/'

export const ModuleQuestion = z.strictObject({ input: z.record(z.string().max(64), z.json()) })
export type ModuleQuestion = z.infer<typeof ModuleQuestion>

/** Largest row, bytes of JSON. */
export const ROW_MAX_BYTES = 64 * 1024

/** Most bytes of rows of one run; a cell leaves out the others, with a warning. */
export const RUN_MAX_BYTES = 8 * 1024 * 1024

/** One finding as its module declares it, without the cell. */
export const ModuleRow = z.record(z.string().max(64), z.json())
export type ModuleRow = z.infer<typeof ModuleRow>

/** Reasons of a cell for not running a module that are about the request and not about the cell. */
export const MODULE_REFUSALS = ['scope_denied', 'invalid_request'] as const

/** Items of the answer to a question, in any order; `unavailable` is the only one when it comes. */
export const ScanItem = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('row'), row: ModuleRow }),
  z.strictObject({
    type: z.literal('unavailable'),
    reason: z.string().max(500),
    /** Absent when this machine cannot run the module, whatever the request. */
    code: z.enum(MODULE_REFUSALS).exactOptional(),
  }),
  z.strictObject({
    type: z.literal('warning'),
    code: z.string().max(64),
    message: z.string().max(500),
  }),
])
export type ScanItem = z.infer<typeof ScanItem>

/** Most rows of one message. */
export const MAX_FINDING_ROWS = 256

/**
 * Body of the `findings` topic: rows of a module that ran by itself. A run is one message or several;
 * the last one says how it ended.
 */
export const FindingsBody = z.object({
  module: z.string().max(64),
  run_id: z.string().max(64),
  /** Number of the message within the run, from 0. */
  part: z.int().nonnegative(),
  /** Start of the run, Unix milliseconds by the cell's clock. */
  started_at: z.int().nonnegative(),
  /** Hash of the input, so that a run is only compared with runs like it. */
  input_hash: z.string().max(64),
  rows: z.array(ModuleRow).max(MAX_FINDING_ROWS),
  /** Absent in every message but the last. */
  end: z
    .object({
      /** `unavailable`: not possible on this machine; `failed`: it was cut off. */
      outcome: z.enum(['complete', 'unavailable', 'failed']),
      reason: z.string().max(500).nullable(),
      /** Use of all modules of the cell, at the end of the run. */
      use: AutoRunUse.exactOptional(),
    })
    .exactOptional(),
})
export type FindingsBody = z.infer<typeof FindingsBody>

const UPSTREAM_WARNINGS = [
  'fallback_used',
  'stale_data',
  'partial_result',
  'rate_limited',
  'auth_missing',
  'licence_restricted',
  'unparsed_record',
] as const
export type UpstreamWarningCode = (typeof UPSTREAM_WARNINGS)[number]

/** A source of an answer, with what its licence asks for. */
export const UpstreamSource = z.strictObject({
  name: z.string().max(64),
  url: z.string().max(2048).describe('Address of the request, without secrets.'),
  fetched_at: z.iso.datetime(),
  age_s: z.int().nonnegative().describe('Seconds since it was fetched.'),
  cache: z.enum(['miss', 'hit', 'revalidated', 'stale', 'bundled']),
  licence: z.string().max(64).nullable(),
  attribution: z.string().max(500).nullable().describe('Text that a reader must see.'),
})
export type UpstreamSource = z.infer<typeof UpstreamSource>

export const UpstreamWarning = z.strictObject({
  code: z.enum(UPSTREAM_WARNINGS),
  message: z.string().max(500),
  source: z.string().max(64).exactOptional(),
})
export type UpstreamWarning = z.infer<typeof UpstreamWarning>
