import { syncBuiltinESMExports } from 'node:module'
import { Readable, Writable } from 'node:stream'
import tls from 'node:tls'
import { parentPort } from 'node:worker_threads'
import { main } from '../../clients/cli/main.ts'

/*
 * Thread that runs one command line after the other. Each has standard streams of its own, which
 * are not a terminal; `process.exit` ends the thread as it ends the program.
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
  replaceStream('stdin', Readable.from(input === '' ? [] : [Buffer.from(input)]))
  replaceStream('stdout', createOutput('out'))
  replaceStream('stderr', createOutput('err'))
  await main([...args], process.env as Record<string, string>)
  post({ code: Number(process.exitCode ?? 0), isUsedUp })
})
