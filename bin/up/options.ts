import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT, LaunchError } from './launch-error.ts'

export interface UpOptions {
  /** Absolute. */
  stateDir: string
  /** 0 takes a free one. */
  port: number
  /** Port of plain MQTT on loopback; 0 picks a free one, undefined disables it. */
  mqttPort: number | undefined
  cells: number
  /** Absolute. */
  readyFile: string | undefined
}

const MAX_CELLS = 64

export const HELP = `Usage: npm start -- [--state-dir .shoal] [--port 7070] [--mqtt-port 7071] [--cells 1]
                    [--ready-file FILE]

Starts a coordinator and cells with the bundled demonstration models on this machine.

  --state-dir FOLDER   where databases, keys and logs stay; the next start takes them up
  --port PORT          of the HTTP API on 127.0.0.1; 0 takes a free one
  --mqtt-port PORT     of MQTT on 127.0.0.1; 0 takes a free one, none opens none
  --cells N            daemons on this machine, 1 to ${MAX_CELLS}
  --ready-file FILE    JSON with addresses, keys and process ids, from when everything is ready
  --help               this text
`

/** Parsed flags; undefined for --help. Throws LaunchError for invalid ones. */
export const parseOptions = (argv: string[], root: string): UpOptions | undefined => {
  const values = read(argv)
  if (values.help === true) return undefined
  const mqtt = values['mqtt-port'] ?? '7071'
  const readyFile = values['ready-file']
  return {
    stateDir: resolve(values['state-dir'] ?? join(root, '.shoal')),
    port: wholeNumber('port', values.port ?? '7070', 0, 65_535),
    mqttPort: mqtt === 'none' ? undefined : wholeNumber('mqtt-port', mqtt, 0, 65_535),
    cells: wholeNumber('cells', values.cells ?? '1', 1, MAX_CELLS),
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
        cells: text,
        'ready-file': text,
        help: { type: 'boolean' },
      },
    }).values
  } catch (cause) {
    const [message = ''] = (cause as Error).message.split('. ')
    throw new LaunchError(EXIT.usage, `${message}; --help lists the flags`, cause)
  }
}

const wholeNumber = (flag: string, text: string, least: number, most: number): number => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new LaunchError(
    EXIT.usage,
    `--${flag} takes a whole number from ${least} to ${most}, not ${text}`,
  )
}
