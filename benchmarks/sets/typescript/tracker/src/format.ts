import { countTasks, nameOf, type Priority, type State, type Task } from './model'
import type { Page } from './query'

export interface Style {
  width: number
  colours: boolean
  locale: string
}

export const PLAIN: Style = { width: 72, colours: false, locale: 'en' }

const MARKS: Record<State, string> = { todo: '[ ]', doing: '[~]', done: '[x]' }
const COLOURS: Partial<Record<Priority, number>> = { high: 31, low: 90 }

export function colour (text: string, code: number | undefined, style: Style): string {
  if (!style.colours || code === undefined) {
    return text
  }
  return `\u001b[${code}m${text}\u001b[0m`
}

export function shorten (text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}

export function formatDate (date: Date, style: Style): string {
  return new Intl.DateTimeFormat(style.locale, { dateStyle: 'short' }).format(date)
}

export function formatTask (task: Task, style: Style = PLAIN, depth: number = 0): string[] {
  const parts = [MARKS[task.state], colour(task.title, COLOURS[task.priority], style)]
  if (task.assignee) {
    parts.push(`@${nameOf(task.assignee)}`)
  }
  if (task.due !== undefined) {
    parts.push(formatDate(task.due, style))
  }
  const line = shorten(' '.repeat(depth * 2) + parts.join(' '), style.width)
  const lines = [line]
  for (const subtask of task.subtasks) {
    lines.push(...formatTask(subtask, style, depth + 1))
  }
  return lines
}

export function formatPage (page: Page<Task>, style: Style): string {
  const lines = page.items.flatMap(task => formatTask(task, style))
  const shown = page.items.reduce((sum, task) => sum + countTasks(task), 0)
  const more = page.next === null ? '' : ` (next: ${page.next})`
  return [...lines, `${shown} of ${page.total}${more}`].join('\n')
}

export function parseWidth (value: string | undefined, fallback: number): number {
  if (value === undefined) {
    return fallback
  }
  const width = Number.parseInt(value, 10)
  return Number.isNaN(width) ? fallback : Math.max(width, 20)
}

export function labels (task: Task): string {
  return [...task.labels].sort().map(label => `#${label}`).join(' ')
}
