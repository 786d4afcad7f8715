import { existsSync } from 'node:fs'
import { lchown, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ShoalError } from '../../shared/errors.ts'
import { lockState } from '../../shared/state-lock.ts'
import { answerLocalRequest } from '../estop/answer-request.ts'
import { CellEstop } from '../estop/cell-estop.ts'
import { EstopLatch } from '../estop/latch.ts'
import { LATCH_FILE, openLatchFile } from '../estop/latch-file.ts'
import { askLocalDaemon } from '../estop/local-client.ts'
import { type LocalAnswer, LocalRequest } from '../estop/local-request.ts'
import type { CommandContext, DaemonCommand } from './command.ts'
import { takeFlags } from './flags.ts'
import { readSettings } from './settings.ts'

export const ESTOP_HELP = {
  usage: 'shoald estop [status|release] [--device NAME] [--reason TEXT]',
  summary: 'Stops the devices of this cell at once, also without the coordinator.',
  flags: [
    '(no word)        engages an e-stop, which stays until it is released',
    'status           lists the stops that are latched on this cell',
    'release          releases the stops that were engaged on this machine',
    '--device NAME    stops the devices of this name or id in place of the whole cell',
    '--id ESTOP       releases this one stop; one of the fleet returns while it is in force there',
    '--reason TEXT    for the people who see the stop; never needed',
  ],
}

type Answer = Exclude<LocalAnswer, { error: string }>

/** Asks the running daemon, or changes the latch that it reads when it starts. */
export const estopCommand: DaemonCommand = async context => {
  const { values, words, rest } = takeFlags(context.argv, ['device', 'id', 'reason'], [])
  const request = toRequest(words, values)
  const { config } = readSettings(context, rest)
  const { answer, isRunning } = await carryOut(config.state_dir, request, context)
  context.write(describeAnswer(request, answer, isRunning ? undefined : config.state_dir))
  return 0
}

const ACTIONS = ['engage', 'status', 'release']

const toRequest = (
  words: readonly string[],
  { device, id, reason }: Partial<Record<'device' | 'id' | 'reason', string>>,
): LocalRequest => {
  const [action = 'engage', ...more] = words
  if (!ACTIONS.includes(action))
    throw new ShoalError(
      'wrong_usage',
      `${JSON.stringify(action)} is not a subcommand of shoald estop; nothing was stopped or released: ` +
        'the subcommands are status and release; without one it engages an e-stop',
    )
  if (action === 'status' && more.length === 0) return { action }
  const by = `local:${userInfo().username}`.slice(0, 128)
  const { data } = LocalRequest.safeParse({
    action,
    by,
    ...(reason !== undefined && { reason }),
    ...(device !== undefined && { device }),
    ...(id !== undefined && { estop_id: id }),
  })
  if (data !== undefined && more.length === 0) return data
  throw new ShoalError(
    'wrong_usage',
    `these arguments cannot be combined; usage: ${ESTOP_HELP.usage}`,
  )
}

/** Time for a daemon that starts or stops to open its socket, or to free its folder. */
const TRIES = 20
const TRY_MS = 250

const carryOut = async (
  stateDir: string,
  request: LocalRequest,
  context: CommandContext,
): Promise<{ answer: Answer; isRunning: boolean }> => {
  for (let tries = 1; ; tries++) {
    const answer = await askLocalDaemon(stateDir, request)
    if (answer !== undefined) return { answer, isRunning: true }
    try {
      return { answer: await changeLatch(stateDir, request, context), isRunning: false }
    } catch (error) {
      const isHeld = error instanceof ShoalError && error.code === 'conflict'
      if (!isHeld || tries === TRIES) throw error
      await sleep(TRY_MS, undefined, { signal: context.signal })
    }
  }
}

/**
 * Changes the latch of a daemon that does not run. The lock keeps one from starting meanwhile. Throws
 * `not_found` without a state folder, which would be created: no daemon would ever read that latch.
 */
const changeLatch = async (
  stateDir: string,
  request: LocalRequest,
  { signal, logger }: CommandContext,
): Promise<Answer> => {
  if (!existsSync(stateDir))
    throw new ShoalError(
      'not_found',
      `there is no state folder ${stateDir}, and nothing was stopped; set --state-dir to that of the daemon`,
    )
  const held = new AbortController()
  await lockState(stateDir, AbortSignal.any([signal, held.signal]))
  try {
    const file = openLatchFile(stateDir)
    const latch = await EstopLatch.open({ file, now: Date.now, logger })
    const estop = new CellEstop({ latch, now: Date.now, logger })
    const answer = await answerLocalRequest(estop, request)
    await giveToOwner(stateDir)
    return answer as Answer
  } finally {
    held.abort()
  }
}

/** Root may have written the file of a daemon of another user. */
const giveToOwner = async (stateDir: string): Promise<void> => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(stateDir)
  await lchown(join(stateDir, LATCH_FILE), uid, gid).catch(() => {})
}

/** The stop of a wrong folder must not look like one of the running daemon. */
const describeIdle = (stateDir: string, action: LocalRequest['action']): string => {
  const none = `The daemon does not run with the state folder ${stateDir}`
  if (action !== 'engage') return `${none}.`
  return `${none}: nothing has stopped now, and it will start with these.
If it runs with another folder, repeat this with --state-dir FOLDER.`
}

const NONE_RELEASED =
  'Nothing was released: no stop was engaged on this machine. Release one of the fleet with shoal release, or here with --id.'

const describeAnswer = (
  { action }: LocalRequest,
  { stops, is_saved, released, names }: Answer,
  idleDir: string | undefined,
): string => {
  const nameOf = (id: string): string => (Object.hasOwn(names, id) ? `${names[id]} (${id})` : id)
  const lines = stops.map(({ estop_id, scope, target, is_local, reason, engaged_by, failed }) => {
    const where = is_local ? 'this machine' : 'the fleet'
    const held = target === null ? scope : nameOf(target)
    const first = `${estop_id}  ${held}  engaged on ${where} by ${engaged_by}: ${reason}`
    return [
      first,
      ...failed.map(one => `  not at rest: ${nameOf(one.device_id)}: ${one.reason}`),
    ].join('\n')
  })
  const head = stops.length === 0 ? 'No e-stop is latched.' : 'Latched e-stops:'
  return [
    ...released.map(id => `Released ${id}.`),
    ...(is_saved
      ? []
      : ['The latch could not be written to disk: the stops end when the daemon restarts.']),
    ...(idleDir === undefined ? [] : [describeIdle(idleDir, action)]),
    ...(action === 'release' && released.length === 0 ? [NONE_RELEASED] : []),
    head,
    ...lines,
    '',
  ].join('\n')
}
