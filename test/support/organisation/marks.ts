import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { DEMO_NAMES, DEMO_TENANT } from '../../../coordinator/access/keys/bootstrap.ts'
import { OWN_WORD } from './history.ts'

const FOLDER = resolve(import.meta.dirname, '../../../examples/organisation')

type ExampleRecord = Record<string, unknown>

/** Example records of all registers; those of CSV files have texts for figures. */
const readRecords = (): ExampleRecord[] =>
  readdirSync(FOLDER)
    .filter(name => !name.endsWith('.md'))
    .flatMap(name => {
      const text = readFileSync(join(FOLDER, name), 'utf8')
      if (!name.endsWith('.csv')) return parse(text) as ExampleRecord[]
      const [head = '', ...lines] = text.trim().split('\n')
      const names = head.split(',')
      return lines.map(line => {
        const cells = line.split(',')
        return Object.fromEntries(names.map((each, at) => [each, cells[at]]))
      })
    })

const listTexts = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(listTexts)
    : [String(value)]

const IS_DATE = /^\d{4}-\d{2}-\d{2}/
const IS_SMALL_NUMBER = /^[\d.]{1,3}$/
/** States and kinds, which every answer may have. */
const IS_WORD = /^[a-z_]+$/

/**
 * Texts by which an answer is recognized as one about the example organisation: ids, names and
 * figures of its records, its customers, and the names of its people. What the product says to a
 * stranger without them is none.
 */
export const listMarks = (saidToAnybody: string): string[] => {
  const records = readRecords()
  const texts = records
    .flatMap(listTexts)
    .filter(text => ![IS_DATE, IS_SMALL_NUMBER, IS_WORD].some(pattern => pattern.test(text)))
  const customers = records.flatMap(({ tenant_id }) => (tenant_id ? [String(tenant_id)] : []))
  const people = DEMO_NAMES.map(name => `${DEMO_TENANT}_${name}`)
  const marks = new Set([OWN_WORD, ...people, ...customers, ...texts])
  return [...marks].filter(mark => mark.length > 2 && !hasMark(saidToAnybody, mark))
}

/** True for a text that has the mark as a word. */
export const hasMark = (text: string, mark: string): boolean =>
  text.includes(mark) &&
  new RegExp(`(?<![\\w.])${mark.replaceAll(/[^\w\s]/g, '\\$&')}(?!\\w)`).test(text)
