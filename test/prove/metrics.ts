import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lintMetrics } from '../support/lint-metrics.ts'
import { MODEL, startInOneProcess } from '../support/one-process-stack.ts'

/**
 * What a coordinator and a cell expose after a request, and the scraper of docs/metrics.md, before
 * `promtool`, the program of Prometheus (Debian's package `prometheus`).
 *
 *   npm run prove -- metrics [PATH OF PROMTOOL]
 */
export const main = async ([promtool = 'promtool']: string[]): Promise<boolean> => {
  if (spawnSync(promtool, ['--version']).error !== undefined) {
    console.log(`this proof cannot run here: ${promtool} is not installed (package prometheus)`)
    return false
  }
  const stack = await startInOneProcess({})
  try {
    const headers = { authorization: `Bearer ${stack.keys.operator}` }
    const read = async (path: string, init: object = {}): Promise<string> => {
      const response = await fetch(stack.url + path, { headers, ...init })
      const text = await response.text()
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
      return text
    }
    await read('/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        max_tokens: 8,
        messages: [{ role: 'user', content: 'a' }],
      }),
    })
    const { cells } = JSON.parse(await read('/v1/cells')) as { cells: { id: string }[] }
    const paths = ['/metrics', ...cells.map(({ id }) => `/v1/cells/${id}/metrics`)]
    const verdicts = []
    for (const path of paths) verdicts.push(checkMetrics(promtool, path, await read(path)))
    return [...verdicts, checkScraper(promtool)].every(Boolean)
  } finally {
    await stack.stop()
  }
}

const checkMetrics = (promtool: string, path: string, text: string): boolean => {
  const { status, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: text })
  const own = lintMetrics(text)
  console.log(`${path}: ${text.split('\n').length} lines, promtool ends with ${status}`)
  console.log([`${stderr}`, ...own].filter(Boolean).join('\n'))
  return status === 0 && own.length === 0
}

const checkScraper = (promtool: string): boolean => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'metrics.md'), 'utf8')
  const [, example = ''] = /```yaml\n(scrape_configs:\n.*?)```/s.exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'shoal-promtool-'))
  try {
    const file = join(folder, 'prometheus.yml')
    writeFileSync(file, example)
    const args = ['check', 'config', '--syntax-only', file]
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' })
    console.log(`docs/metrics.md: promtool ends with ${status}\n${stdout}${stderr}`)
    return status === 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}
