import * as z from 'zod'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { AiBenchmarks, BenchmarkBoard } from '../../modules/ai_ml/ai-benchmarks.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import aa from '../../upstreams/sources/aa.ts'
import aider from '../../upstreams/sources/aider.ts'
import hf from '../../upstreams/sources/hf.ts'
import { readAider, readIndex, readLeaderboard } from './benchmarks/read-boards.ts'

interface Input {
  task?: string
}

/** Data sets of the hub with an official leaderboard, by task. */
const BOARDS: Readonly<Record<string, readonly string[]>> = {
  general: ['TIGER-Lab/MMLU-Pro'],
  reasoning: ['Idavidrein/gpqa', 'cais/hle'],
  math: ['MathArena/aime_2026', 'openai/gsm8k'],
  code: ['SWE-bench/SWE-bench_Verified'],
  document: ['allenai/olmOCR-bench'],
}

const compareModels: LookupRun<Input, AiBenchmarks> = async ({ task }, context) => {
  const names = task === undefined ? Object.values(BOARDS).flat() : (BOARDS[task] ?? [])
  const isCode = task === undefined || task === 'code'
  const readers: (() => Promise<BenchmarkBoard>)[] = [
    ...names.map(name => () => askLeaderboard(name, context)),
    ...(isCode ? [() => askAider(context)] : []),
    ...(context.settings.hasKey(aa.id) ? [() => askIndex(context)] : []),
  ]
  const failures: UpstreamError[] = []
  const found = await Promise.all(readers.map(read => orNothing(read, failures, context)))
  const boards = found.flatMap(board => board ?? [])
  // boards that fail alone are left out; all of them together are a failure
  const [first] = failures
  if (boards.length === 0 && first !== undefined) throw first
  return { task: task ?? null, boards }
}
export default compareModels

const orNothing = async (
  read: () => Promise<BenchmarkBoard>,
  failures: UpstreamError[],
  { signal, warn }: LookupContext,
): Promise<BenchmarkBoard | undefined> => {
  try {
    return await read()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof z.ZodError) warn('unparsed_record', 'a leaderboard could not be read')
    else if (error instanceof UpstreamError) {
      failures.push(error)
      const isRefused = error.status === 401 || error.status === 403
      warn(isRefused ? 'auth_missing' : 'partial_result', error.message, error.source)
    } else throw error
    return undefined
  }
}

const askLeaderboard = async (name: string, { ask }: LookupContext): Promise<BenchmarkBoard> => {
  const path = `/api/datasets/${name}/leaderboard`
  const { body } = await ask({ source: hf, path, form: 'json' })
  return readLeaderboard(name, body)
}

const askAider = async ({ ask }: LookupContext): Promise<BenchmarkBoard> => {
  const { body } = await ask({ source: aider, path: '/polyglot_leaderboard.yml', form: 'yaml' })
  return readAider(body)
}

const askIndex = async ({ ask }: LookupContext): Promise<BenchmarkBoard> => {
  const { body } = await ask({ source: aa, path: '/data/llms/models', form: 'json' })
  return readIndex(body)
}
