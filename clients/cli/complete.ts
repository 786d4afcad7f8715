import type { Command } from 'commander'
import { createApi } from './api.ts'
import { completionCandidates, FILES, formatCandidate, type ValuePlace } from './candidates.ts'
import { COMPLETE } from './completion.ts'
import type { DescribedOperation } from './document.ts'
import { cacheFolder, loadOperations, readKeptOperations } from './document-cache.ts'
import { type KnownObject, listKnownObjects } from './known-ids.ts'
import { addOperationCommands } from './operation-commands.ts'
import type { Environment, GlobalOptions } from './options.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { trustAuthorities } from './session.ts'
import { resolveSettings } from './settings.ts'
import { splitLine } from './split-line.ts'

/** Longest wait for completions where SHOAL_COMPLETE_SECONDS names no other. */
const ANSWER_SECONDS = 1

/** Adds the hidden command that prints completions; it prints nothing on any error. */
export const addComplete = (program: Command, env: Environment): void => {
  program.command(COMPLETE, { hidden: true }).action(async () => {
    const typed = readTypedWords(env)
    const lines = await complete(program, typed.words, env).catch(() => [])
    process.stdout.write(lines.map(line => `${trimForBash(line, typed)}\n`).join(''))
    // An unfinished request must not keep the shell waiting
    process.exit()
  })
}

/** Characters that no shell interprets; a candidate with others is left out. */
const SAFE = /^[\w.:@=+/,%-]+$/

interface Typed {
  /** The first is the program, the last is being typed. */
  words: string[]
  /** Part of the last word that bash already treats as a separate word; bash only. */
  before: string | undefined
}

const readTypedWords = (env: Environment): Typed => {
  const { SHOAL_COMPLETE_LINE: line, SHOAL_COMPLETE_WORDS: words = '' } = env
  const { SHOAL_COMPLETE_CURRENT: current = '' } = env
  if (line === undefined) return { words: [...words.split('\n'), current], before: undefined }
  const split = splitLine(line)
  const last = split.at(-1) ?? ''
  const breaks = env.SHOAL_COMPLETE_BREAKS ?? ':='
  const at = Math.max(
    ...[':', '='].filter(c => breaks.includes(c)).map(c => last.lastIndexOf(c)),
    -1,
  )
  return { words: split, before: last.slice(0, at + 1) }
}

/** bash shows no descriptions. */
const trimForBash = (line: string, { before }: Typed): string => {
  if (before === undefined) return line
  const [word = ''] = line.split('\t')
  return word.startsWith(before) ? word.slice(before.length) : word
}

const complete = async (
  program: Command,
  words: readonly string[],
  env: Environment,
): Promise<string[]> => {
  const [, ...typed] = words
  const current = typed.pop() ?? ''
  const { key: flagKey, ...options } = optionsOf(program, typed)
  const settings = resolveSettings(
    { ...options, ...(flagKey === undefined || flagKey === '-' ? {} : { key: flagKey }) },
    env,
    readProfiles(profilesFile(env)),
  )
  await trustAuthorities(settings)
  const api = createApi({ ...settings, signal: AbortSignal.timeout(waitMs(env)) })
  const folder = cacheFolder(env)
  const load = () =>
    readKeptOperations(settings.url, folder).then(
      kept => kept ?? loadOperations(api, settings.url, folder),
    )
  // without it, the commands of this program are still there
  const operations: DescribedOperation[] = await load().catch(() => [])
  addOperationCommands(program, operations, async () => {})
  const profiles = () => readProfiles(profilesFile(env))
  const listKnown = (name: string, place: ValuePlace): Promise<KnownObject[]> =>
    listKnownObjects(name, { operations, api, profiles, ...place }).then(
      list => list?.objects ?? [],
      () => [],
    )
  const found = await completionCandidates(program, typed, current, listKnown)
  return found
    .filter(each => each === FILES || (each.word.startsWith(current) && SAFE.test(each.word)))
    .map(formatCandidate)
}

const waitMs = ({ SHOAL_COMPLETE_SECONDS: given }: Environment): number => {
  const seconds = Number(given)
  return (seconds > 0 && seconds <= 3600 ? seconds : ANSWER_SECONDS) * 1000
}

const optionsOf = (program: Command, typed: string[]): GlobalOptions => {
  try {
    program.parseOptions(typed)
  } catch {
    // half of a line is often wrong
  }
  return program.opts<GlobalOptions>()
}
