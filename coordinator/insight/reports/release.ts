import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { lazy } from '../../../shared/lazy.ts'

export const CHANNELS = ['platform', 'governance', 'operations', 'quality', 'launch'] as const
const SOURCES = ['diagnosis', 'governance', 'gaps', 'quality'] as const
type Source = (typeof SOURCES)[number]

const Block = z.strictObject({
  id: z.string(),
  channel: z.enum(CHANNELS),
  title: z.string(),
  /** Absent for a block that an operator records. */
  check: z.strictObject({ source: z.enum(SOURCES), id: z.string() }).optional(),
})
type Block = z.output<typeof Block>

/** The building blocks of a release, in display order. */
export const listReleaseBlocks = lazy(
  (): readonly Block[] =>
    z
      .strictObject({ blocks: z.array(Block) })
      .parse(parse(readFileSync(new URL('release-blocks.yaml', import.meta.url), 'utf8'))).blocks,
)

const isRecorded = (id: string): boolean =>
  listReleaseBlocks().some(block => block.id === id && block.check === undefined)

/** Records of an operator about blocks that the service cannot check. */
export const ReleaseRecords = z
  .record(
    z.string().refine(isRecorded, { error: 'is not a building block that operators record' }),
    z.strictObject({
      state: z.enum(['ready', 'not_ready']),
      evidence: z.string().min(1).max(1000).describe('Where it can be seen, or what is missing.'),
      owner: z.string().min(1).max(200).describe('Person who answers for it.'),
      on: z.iso.date(),
    }),
  )
  .default({})
  .describe('Building blocks of a release by id, `launch-load-tested`; see docs/reports.md.')
export type ReleaseRecords = z.output<typeof ReleaseRecords>

/** Outcome of one executable check; `undefined` for one that had nothing to measure. */
interface CheckOutcome {
  passed: boolean | undefined
  evidence: string
}

export type CheckOutcomes = Record<Source, ReadonlyMap<string, CheckOutcome>>

interface BlockState extends Omit<Block, 'check'> {
  kind: 'check' | 'record'
  state: 'ready' | 'not_ready' | 'unknown'
  evidence: string
  owner: string | undefined
}

/** Judges every building block by its check or its record. */
export const judgeBlocks = (outcomes: CheckOutcomes, records: ReleaseRecords): BlockState[] =>
  listReleaseBlocks().map(({ check, ...block }) =>
    check === undefined
      ? { ...block, kind: 'record', ...judgeRecord(records[block.id]) }
      : { ...block, kind: 'check', ...judgeCheck(outcomes[check.source].get(check.id)) },
  )

type Judgement = Pick<BlockState, 'state' | 'evidence' | 'owner'>

const judgeCheck = (outcome: CheckOutcome | undefined): Judgement => {
  if (outcome === undefined)
    return { state: 'unknown', evidence: 'the check does not exist', owner: undefined }
  const { passed, evidence } = outcome
  const state = passed === undefined ? 'unknown' : passed ? 'ready' : 'not_ready'
  return { state, evidence, owner: undefined }
}

const judgeRecord = (record: ReleaseRecords[string] | undefined): Judgement =>
  record === undefined
    ? { state: 'unknown', evidence: 'not recorded yet', owner: undefined }
    : { state: record.state, evidence: `${record.evidence} (${record.on})`, owner: record.owner }
