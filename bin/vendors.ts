import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'

/*
 * `node bin/vendors.ts --oui FILE ... --companies FILE --services FILE ... --enterprises FILE`: writes
 * the tables of assigned names that discovery looks up. A table without a file is left as it is.
 */

const USAGE = `usage: node bin/vendors.ts [--out FOLDER] [--date YYYY-MM-DD] [--source TEXT] TABLE FILE ...
  --oui FILE          IEEE: oui.csv, mam.csv and oui36.csv, or index.json of the npm package oui-data
  --companies FILE    Bluetooth SIG: company_identifiers.yaml, or company_ids.json of Nordic Semiconductor
  --services FILE     Bluetooth SIG: service_uuids.yaml, member_uuids.yaml, or service_uuids.json of Nordic
  --enterprises FILE  IANA: enterprise-numbers, or enterprises.tsv of Wireshark
An option can be repeated where an authority publishes several files. --date is the date of the
files and --source the place where they came from, for the head of the table.
`

const FOLDER = resolve(import.meta.dirname, '../discovery/entities/vendors')
const MAX_NAME_LENGTH = 128

/** A key as it is looked up, and its name. */
type Entry = readonly [key: string, name: string]

interface Table {
  file: string
  title: string
  /** Authority that assigns the numbers, and the terms of its list. */
  authority: string
  read(text: string): Entry[]
}

/** Rows `registry,assignment,"organisation",...` of IEEE. */
const IEEE_ROW = /^MA-[LMS],([0-9A-F]{6,9}),(?:"((?:[^"]|"")*)"|([^,]*)),/
/** Holders that have no public name, and blocks whose parts are assigned one by one. */
const NAMELESS = /^(private|ieee registration authority)$/i

const readOui = (text: string): Entry[] =>
  (text.startsWith('{') ? readOuiData(text) : readIeeeRows(text)).filter(
    ([, name]) => !NAMELESS.test(name),
  )

const readIeeeRows = (text: string): Entry[] =>
  text.split('\n').flatMap(line => {
    const [, prefix, quoted, plain = ''] = IEEE_ROW.exec(line) ?? []
    const name = quoted?.replaceAll('""', '"') ?? plain
    return prefix === undefined ? [] : [[prefix.toLowerCase(), name] as const]
  })

/** An object from prefixes to the name and the address, a line each. */
const readOuiData = (text: string): Entry[] =>
  Object.entries<string>(JSON.parse(text)).map(([prefix, lines]) => [
    prefix.toLowerCase(),
    lines.split('\n', 1)[0] ?? '',
  ])

/** JSON is YAML as well, so both forms of the lists are read alike. */
const readCompanies = (text: string): Entry[] => {
  const list = parse(text)
  const rows: { value?: number; code?: number; name: string }[] = list.company_identifiers ?? list
  return rows.map(({ value, code = value ?? 0, name }) => [
    code.toString(16).padStart(4, '0'),
    name,
  ])
}

const readServices = (text: string): Entry[] => {
  const list = parse(text)
  const rows: { uuid: number | string; name: string }[] = list.uuids ?? list
  return rows.map(({ uuid, name }) => [
    typeof uuid === 'number'
      ? uuid.toString(16).padStart(4, '0')
      : uuid.toLowerCase().replaceAll('-', ''),
    name,
  ])
}

/** IANA writes a number, its organisation and two contacts on a line each; the other form has tabs. */
const readEnterprises = (text: string): Entry[] => {
  const rows = text.matchAll(/^(\d{1,10})(?:\t|\r?\n {1,4}(?=\S))([^\t\r\n]+)/gm)
  return [...rows].flatMap(([, number = '', name = '']) =>
    /^(reserved|unassigned|none)\b/i.test(name) ? [] : [[number, name] as const],
  )
}

const TABLES = {
  oui: {
    file: 'oui.tsv',
    title: 'Prefixes of MAC addresses: MA-L, MA-M and MA-S.',
    authority: 'IEEE Registration Authority, https://standards-oui.ieee.org (public listing).',
    read: readOui,
  },
  companies: {
    file: 'bluetooth-companies.tsv',
    title: 'Bluetooth company identifiers, hexadecimal.',
    authority: 'Bluetooth SIG, Assigned Numbers, section 7 (public listing).',
    read: readCompanies,
  },
  services: {
    file: 'bluetooth-services.tsv',
    title: 'Bluetooth service UUIDs.',
    authority: 'Bluetooth SIG, Assigned Numbers, section 3 (public listing).',
    read: readServices,
  },
  enterprises: {
    file: 'enterprises.tsv',
    title: 'Private enterprise numbers.',
    authority:
      'IANA, https://www.iana.org/assignments/enterprise-numbers (CC0 1.0, as all IANA registries).',
    read: readEnterprises,
  },
} as const satisfies Record<string, Table>

/** One line of at most 128 characters, without remarks. */
const cleanName = (name: string): string =>
  name
    .replace(/\s+# formerly .*$/, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH)
    .trimEnd()

const writeTable = (table: Table, files: string[], head: { source: string; date: string }) => {
  const entries = files
    .flatMap(file => table.read(readFileSync(file, 'utf8')))
    .map(([key, name]) => [key, cleanName(name)] as const)
    .filter(([, name]) => name !== '')
  const lines = [...new Map(entries)].map(([key, name]) => `${key}\t${name}`)
  if (lines.length === 0) throw new Error(`${files.join(', ')}: nothing for ${table.file} in it`)
  const sorted = lines.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const text = [
    `# ${table.title} ${lines.length} entries of ${head.date}.`,
    `# Authority: ${table.authority}`,
    `# Source: ${head.source}`,
    '# Written by bin/vendors.ts; lines are in the order of their bytes.',
    ...sorted,
  ]
  return `${text.join('\n')}\n`
}

const FILES = { type: 'string', multiple: true } as const
const FLAGS = {
  oui: FILES,
  companies: FILES,
  services: FILES,
  enterprises: FILES,
  out: { type: 'string', default: FOLDER },
  date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
  source: { type: 'string', default: 'files of the authority.' },
} as const

const main = (): void => {
  const { values, positionals } = parseArgs({ options: FLAGS, allowPositionals: true })
  const { out, date, source, ...tables } = values
  if (Object.keys(tables).length === 0 || positionals.length > 0) throw new Error('no table named')
  for (const [name, files] of Object.entries(tables)) {
    const table = TABLES[name as keyof typeof TABLES]
    writeFileSync(join(out, table.file), writeTable(table, files, { source, date }))
    console.log(`${table.file} written from ${files.join(', ')}`)
  }
}

try {
  main()
} catch (error) {
  console.error(`bin/vendors.ts: ${(error as Error).message}\n${USAGE}`)
  process.exitCode = 64
}
