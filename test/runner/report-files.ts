import type { RunResult } from './run-files.ts'

export interface FilesReport {
  lines: string[]
  passed: number
  failed: number
}

/** End of a titled test: an assertion has no time. */
const TITLED = /^\s*(ok|not ok) \d+ - .* # time=/
/** End of a file among several. */
const FILE = /^(?:not )?ok \d+ - (.*) # time=/
const SKIPPED_OR_TODO = /# (skip|todo)/i

/**
 * Reports failures with their diagnosis, skipped and unfinished tests, and the count of titled tests.
 * A failed process counts too: it may have crashed, timed out or failed outside its tests.
 */
export const reportFiles = (result: RunResult): FilesReport => {
  const { files, isPassed, ending, milliseconds, cpuMs } = result
  const report: FilesReport = { lines: [], passed: 0, failed: isPassed ? 0 : 1 }
  const unfinished = new Set(files.length > 1 ? files : [])
  let isDiagnosis = false
  for (const line of result.lines) {
    const isFile = unfinished.delete(FILE.exec(line)?.[1] ?? '')
    isDiagnosis = /^\s*not ok/.test(line) || (isDiagnosis && !/^\s*ok \d+/.test(line))
    if (isFile || isDiagnosis || SKIPPED_OR_TODO.test(line)) report.lines.push(`    ${line}`)
    const outcome = isFile ? undefined : TITLED.exec(line)?.[1]
    if (outcome !== undefined) report[outcome === 'ok' ? 'passed' : 'failed']++
  }
  for (const file of unfinished) report.lines.push(`    not ok - ${file} did not end`)
  const name = files.length === 1 ? files[0] : `the ${files.length} files above`
  const time = `# time=${Math.round(milliseconds)}ms cpu=${cpuMs}ms`
  if (isPassed) report.lines.push(`ok - ${name} ${time}`)
  else report.lines.push(`    the process ${ending}`, `not ok - ${name} ${time}`)
  return report
}
