import { accessSync, constants, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { exitCode, ShoalError } from '../shared/errors.ts'
import { onStopSignals } from '../shared/stop-signals.ts'
import { openDatabase } from './up/database.ts'
import { planEntry } from './up/entry.ts'
import { describeForeignAddress } from './up/lan.ts'
import { EXIT, LaunchError } from './up/launch-error.ts'
import { HELP, parseOptions, type UpOptions } from './up/options.ts'
import { checkPorts, findFreePorts } from './up/ports.ts'
import { removeReadyFile } from './up/ready-file.ts'
import { createScreen, type LaunchScreen, printable } from './up/screen.ts'
import { Stack } from './up/stack.ts'
import { keysFileOf, type LaunchState, lockFolder, openState } from './up/state.ts'

const root = resolve(import.meta.dirname, '..')

type Environment = Record<string, string | undefined>

/**
 * `npm start`: a coordinator and cells with the bundled models on this machine, in one terminal.
 * State, keys and logs stay in `.shoal/`; the next start continues with them.
 */
export const main = async (argv: string[], env: Environment): Promise<void> => {
  // A closed terminal must not leave the children running
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    const options = parseOptions(argv, root)
    if (options === undefined) process.stdout.write(HELP)
    else await bringUp(await choosePort(options), env)
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined) throw error
    process.stderr.write(`npm start: ${printable((error as Error).message)}\n`)
    process.exitCode = code
  }
}

/** Picks a free port beforehand with `--lan`, since the printed address contains it. */
const choosePort = async (options: UpOptions): Promise<UpOptions> => {
  if (options.lan === undefined || options.port !== 0) return options
  const [port = 0] = await findFreePorts(1)
  return { ...options, port }
}

const codeOf = (error: unknown): number | undefined => {
  if (error instanceof LaunchError) return error.exitCode
  return error instanceof ShoalError ? exitCode(error.code) : undefined
}

const bringUp = async (options: UpOptions, env: Environment): Promise<void> => {
  const screen = createScreen(process.stdout)
  const { stop, hurry } = stopOnSignals(screen)
  if (options.readyFile !== undefined) checkReadyFile(options.readyFile)
  await lockFolder(options.stateDir, stop)
  await checkPorts(options)
  const warning = options.lan && describeForeignAddress(options.lan)
  if (warning !== undefined) screen.say(warning)
  const { place, flags, server } = await openDatabase({ options, screen, env })
  if (server !== undefined) hurry.addEventListener('abort', server.kill, { once: true })
  try {
    const state = await openState(options.stateDir, options.cells, place)
    tellNewKeys(state, screen)
    const entry = await planEntry(options)
    const parts = { options, state, screen, env, root, stop, hurry, entry, storeFlags: flags }
    const stack = new Stack(parts).run()
    await Promise.race([stack, ...(server === undefined ? [] : [server.failed])])
  } finally {
    await server?.stop()
  }
  screen.say('stopped')
}

const tellNewKeys = ({ folder, issued, firstStart }: LaunchState, screen: LaunchScreen): void => {
  if (firstStart || issued.length === 0) return
  screen.say(
    `new keys for ${issued.join(', ')}: they were not in ${keysFileOf(folder)}, or revoked`,
  )
}

/** Removes the ready file of an earlier start, which would report that everything is ready. */
const checkReadyFile = (path: string): void => {
  try {
    mkdirSync(dirname(path), { recursive: true })
    accessSync(dirname(path), constants.W_OK)
    removeReadyFile(path)
  } catch (cause) {
    const { message } = cause as Error
    throw new LaunchError(EXIT.cannotCreate, `cannot write ${path}: ${message}`, cause)
  }
}

const stopOnSignals = (screen: LaunchScreen): { stop: AbortSignal; hurry: AbortSignal } => {
  const stop = new AbortController()
  const hurry = new AbortController()
  onStopSignals({
    names: ['SIGINT', 'SIGTERM', 'SIGHUP'],
    onFirst: () => {
      screen.say('stopping; press Ctrl-C again to stop at once')
      stop.abort()
    },
    onRepeat: () => hurry.abort(),
  })
  return { stop: stop.signal, hurry: hurry.signal }
}
