import type { DemoKeys } from '../../coordinator/access/keys/bootstrap.ts'
import type { Addresses, ReplicaAddress } from './ready-file.ts'

/** Output on the terminal. On a TTY the progress is a single line that is redrawn. */
export interface LaunchScreen {
  progress(text: string): void
  say(text: string): void
}

interface LaunchTerminal {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

const CLEAR_LINE = '\r\x1b[2K'

/** Text of children and files without the control characters that a terminal would obey. */
export const printable = (text: string): string => text.replace(/[^\P{C}\n]/gu, ' ')

export const createScreen = (terminal: LaunchTerminal): LaunchScreen => {
  let shown = ''
  const clear = (): void => {
    if (terminal.isTTY && shown !== '') terminal.write(CLEAR_LINE)
  }
  return {
    progress: text => {
      if (text === shown) return
      clear()
      shown = text
      terminal.write(terminal.isTTY ? text.slice(0, (terminal.columns || 80) - 1) : `${text}\n`)
    },
    say: text => {
      clear()
      // a pipe keeps the last line of progress, which needs no repetition
      if (terminal.isTTY) shown = ''
      terminal.write(`${printable(text)}\n`)
    },
  }
}

interface Banner extends Omit<Addresses, 'localUrl'> {
  keys: DemoKeys
  keysFile: string
  logs: string
  cells: number
  devices: 'sim' | 'none'
  /** Addresses of several coordinators, and the name of the balancer in front of them. */
  replicas?: { balancer: string; addresses: readonly ReplicaAddress[] } | undefined
  /** Command that makes another machine a cell. */
  joinLine?: string | undefined
}

const QUESTION =
  '{"model":"model-a:7b","temperature":0,"messages":[{"role":"user","content":"What is a cell?"}]}'

const curlLine = ({ baseUrl, caFile, keys }: Pick<Banner, 'baseUrl' | 'caFile' | 'keys'>): string =>
  [
    `curl -s ${caFile === undefined ? '' : `--cacert ${caFile} `}${baseUrl}/v1/chat/completions`,
    `-H "Authorization: Bearer ${keys.free}"`,
    '-H "Content-Type: application/json"',
    `-d '${QUESTION}'`,
  ].join(' ')

const replicaLines = ({ balancer, addresses }: NonNullable<Banner['replicas']>): string => `
The API is served by ${addresses.length} coordinators behind ${balancer}:
${addresses.map(({ name, url }) => `  ${name}  ${url}`).join('\n')}
`

const lanLines = (joinLine: string, caFile = ''): string => `
Another machine on this network becomes a cell within an hour with:

${joinLine}

Programs on other machines trust the API with a copy of ${caFile}.
`

/** The command line, Node.js, curl and Python read one variable each. */
const trustLines = (caFile = ''): string => `${[
  'SHOAL_CA_FILE',
  'NODE_EXTRA_CA_CERTS',
  'CURL_CA_BUNDLE',
  'SSL_CERT_FILE',
]
  .map(name => `export ${name}=${quoteForShell(caFile)}`)
  .join('\n')}
In that terminal, curl and Python trust no other authority then.
`

const quoteForShell = (text: string): string =>
  /^[\w./:@=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

export const bannerText = ({
  baseUrl,
  mqttUrl,
  caFile,
  keys,
  keysFile,
  logs,
  cells,
  devices,
  replicas,
  joinLine,
}: Banner): string => `
shoal is up, with ${cells === 1 ? 'one cell' : `${cells} cells`}.

  API    ${baseUrl}/v1${mqttUrl === undefined ? '' : `\n  MQTT   ${mqttUrl}`}
  Docs   ${baseUrl}/docs
  Logs   ${logs}
  Keys   ${keysFile}
${Object.entries(keys)
  .map(([name, key]) => `         ${name.padEnd(12)}${key}`)
  .join('\n')}
${replicas === undefined ? '' : replicaLines(replicas)}${joinLine === undefined ? '' : lanLines(joinLine, caFile)}
For the command line and the examples of README.md, in a second terminal:
export SHOAL_URL=${baseUrl}
export SHOAL_KEY=${keys.operator}
${joinLine === undefined ? '' : trustLines(caFile)}
${devices === 'sim' ? 'The first cell has simulated robots, a drone, a printer and a switch.\n' : ''}The bundled models, which shoal models list marks, are small demonstrations. Try one:
${curlLine({ baseUrl, caFile, keys })}
Ctrl-C stops everything.`
