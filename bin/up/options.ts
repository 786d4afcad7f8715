import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findLanAddress } from './lan.ts'
import { EXIT, LaunchError } from './launch-error.ts'

export interface UpOptions {
  /** Absolute. */
  stateDir: string
  /** 0 takes a free one. */
  port: number
  /** Port of plain MQTT on loopback; 0 picks a free one, undefined disables it. */
  mqttPort: number | undefined
  /** Address at which other machines reach the API, with TLS; undefined for this machine alone. */
  lan: string | undefined
  cells: number
  /** Coordinators; more than one share a PostgreSQL database behind a balancer. */
  replicas: number
  /** Address of the database, `embedded` for one of its own; undefined for SQLite. */
  postgres: string | undefined
  /** Devices of the first cell. */
  devices: 'sim' | 'none'
  /** Absolute. */
  readyFile: string | undefined
}

const MAX_CELLS = 64
/** Each cell is linked with at most this many coordinators. */
const MAX_REPLICAS = 5

export const HELP = `Usage: npm start -- [--state-dir .shoal] [--port 7070] [--mqtt-port 7071] [--cells 1]
                    [--devices sim] [--ready-file FILE]
                    [--lan [--address ADDRESS]] [--replicas 3 --postgres embedded|URL]

Starts a coordinator and cells with the bundled demonstration models on this machine.

  --state-dir FOLDER   databases, keys and logs; the next start continues with them
  --port PORT          port of the HTTP API on 127.0.0.1; 0 chooses a free one
  --lan                lets other machines connect: listens on every address with TLS, and prints
                       the command with which another machine becomes a cell
  --address ADDRESS    with --lan: address under which others reach this machine (default: its first)
  --mqtt-port PORT     port of MQTT on 127.0.0.1; 0 chooses a free one, none opens no port
  --cells N            daemons on this machine, 1 to ${MAX_CELLS}
  --replicas N         coordinators behind a balancer, 1 to ${MAX_REPLICAS}; more than one needs --postgres
  --postgres URL       keeps the store in PostgreSQL instead of SQLite; embedded starts one of
                       Debian's in the state folder
  --devices sim|none   simulated robots, a drone, a printer and a switch on the first cell, or none
  --ready-file FILE    where addresses, keys and process ids are written as JSON once all is ready
  --help               this text
`

/** Parsed flags; undefined for --help. Throws LaunchError for invalid ones. */
export const parseOptions = (argv: string[], root: string): UpOptions | undefined => {
  const values = read(argv)
  if (values.help === true) return undefined
  const readyFile = values['ready-file']
  const { postgres } = values
  const replicas = wholeNumber('replicas', values.replicas ?? '1', 1, MAX_REPLICAS)
  if (replicas > 1 && postgres === undefined)
    throw new LaunchError(EXIT.usage, '--replicas needs --postgres URL or --postgres embedded')
  const mqtt = values['mqtt-port'] ?? (replicas > 1 ? 'none' : '7071')
  if (replicas > 1 && mqtt !== 'none')
    throw new LaunchError(EXIT.usage, '--mqtt-port is for one coordinator only')
  const folder = postgres === undefined ? '.shoal' : join('.shoal', 'postgres')
  return {
    stateDir: resolve(values['state-dir'] ?? join(root, folder)),
    port: wholeNumber('port', values.port ?? '7070', 0, 65_535),
    mqttPort: mqtt === 'none' ? undefined : wholeNumber('mqtt-port', mqtt, 0, 65_535),
    lan: readLan(values, replicas),
    cells: wholeNumber('cells', values.cells ?? '1', 1, MAX_CELLS),
    replicas,
    postgres,
    devices: readDevices(values.devices ?? 'sim'),
    readyFile: readyFile === undefined ? undefined : resolve(readyFile),
  }
}

const read = (argv: string[]) => {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: argv,
      options: {
        'state-dir': text,
        port: text,
        'mqtt-port': text,
        lan: { type: 'boolean' },
        address: text,
        cells: text,
        replicas: text,
        postgres: text,
        devices: text,
        'ready-file': text,
        help: { type: 'boolean' },
      },
    }).values
  } catch (cause) {
    const [message = ''] = (cause as Error).message.split('. ')
    throw new LaunchError(EXIT.usage, `${message}; --help lists the flags`, cause)
  }
}

const readLan = (
  { lan, address }: { lan?: boolean | undefined; address?: string | undefined },
  replicas: number,
): string | undefined => {
  if (lan !== true) {
    if (address === undefined) return undefined
    throw new LaunchError(EXIT.usage, '--address is for --lan')
  }
  if (replicas > 1) throw new LaunchError(EXIT.usage, '--lan is for one coordinator only')
  if (address !== undefined && isIP(address) === 0)
    throw new LaunchError(EXIT.usage, `--address takes an IP address, not ${address}`)
  return address ?? findLanAddress()
}

const readDevices = (text: string): UpOptions['devices'] => {
  if (text === 'sim' || text === 'none') return text
  throw new LaunchError(EXIT.usage, `--devices takes sim or none, not ${text}`)
}

const wholeNumber = (flag: string, text: string, least: number, most: number): number => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new LaunchError(
    EXIT.usage,
    `--${flag} takes a whole number from ${least} to ${most}, not ${text}`,
  )
}
