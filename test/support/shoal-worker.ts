import { syncBuiltinESMExports } from 'node:module'
import { Readable, Writable } from 'node:stream'
import tls from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { COMPLETE } from '../../clients/cli/completion.ts'

/*
 * Thread that runs one command line after the other, with the `main` of the program that it is
 * started for. Each has standard streams of its own, which are not a terminal; `process.exit` ends
 * the thread as it ends the program, unless the program is one that `exits`.
 */

export interface Command {
  env: Record<string, string>
  args: readonly string[]
  input: string
}

/** A piece of output, or the end of a command. */
export type Message =
  | { stream: 'out' | 'err'; text: string }
  | { code: number /** True when the thread must not run another command. */; isUsedUp: boolean }

export interface Program {
  /** URL of the source with the `main`. */
  url: string
  /** True when `main` calls `process.exit` itself, which then ends that call and not the thread. */
  exits: boolean
}

const { url, exits } = workerData as Program
const { main } = await import(url)
const port = parentPort
if (port === null) throw new Error('this file is the program of a thread')
const post = (message: Message): void => port.postMessage(message)

let isUsedUp = false
const setAuthorities = tls.setDefaultCACertificates
tls.setDefaultCACertificates = certificates => {
  isUsedUp = true
  setAuthorities(certificates)
}
syncBuiltinESMExports()

class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`the program exits with ${code}`)
    this.code = code
  }
}

const endThread = process.exit
const endCall = ((code = 0) => {
  throw new Exit(Number(code))
}) as typeof process.exit
/** The last call of a completion, which leaves its requests. */
const goOn = (() => {}) as typeof process.exit

const chooseExit = (word: string | undefined): typeof process.exit => {
  if (exits) return endCall
  return word === COMPLETE ? goOn : endThread
}

/** Runs the program to its end and returns its exit code. */
const run = async (args: readonly string[]): Promise<number> => {
  try {
    await main([...args], process.env)
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof Exit) return error.code
    throw error
  }
}

const replaceStream = (name: 'stdin' | 'stdout' | 'stderr', value: Readable | Writable): void =>
  void Object.defineProperty(process, name, { value, configurable: true })

const createOutput = (stream: 'out' | 'err'): Writable =>
  new Writable({
    decodeStrings: false,
    write: (chunk: Buffer | string, _, done) => {
      post({ stream, text: chunk.toString() })
      done()
    },
  })

port.on('message', async ({ env, args, input }: Command) => {
  process.env = { ...env }
  process.exitCode = undefined
  process.exit = chooseExit(args[0])
  replaceStream('stdin', Readable.from(input === '' ? [] : [Buffer.from(input)]))
  replaceStream('stdout', createOutput('out'))
  replaceStream('stderr', createOutput('err'))
  post({ code: await run(args), isUsedUp })
})
