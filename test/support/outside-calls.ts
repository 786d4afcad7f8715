import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import tls from 'node:tls'

type Methods = Record<string, unknown>

/** Every way from this process to a socket or another process; `fetch`, http and mqtt use them too. */
const WAYS_OUT: readonly (readonly [object: object, names: readonly string[]])[] = [
  [net.Socket.prototype, ['connect']],
  [net.Server.prototype, ['listen']],
  [tls, ['connect']],
  [dgram.Socket.prototype, ['bind', 'connect', 'send']],
  [dgram, ['createSocket']],
  [childProcess, ['spawn', 'fork', 'exec', 'execFile', 'spawnSync', 'execSync', 'execFileSync']],
]

/** Runs something synchronous; returns the calls that would have left this process, which throw. */
export const recordOutsideCalls = (act: () => void): string[] => {
  const calls: string[] = []
  const undo = WAYS_OUT.flatMap(([object, names]) =>
    names.map(name => {
      const methods = object as Methods
      const real = methods[name]
      methods[name] = () => {
        calls.push(name)
        throw new Error(`${name} was called`)
      }
      return () => {
        methods[name] = real
      }
    }),
  )
  syncBuiltinESMExports()
  try {
    act()
  } finally {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
  return calls
}
