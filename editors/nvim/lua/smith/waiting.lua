-- Jobs that wait until the editor is ready for them. Knows nothing of what they do.
-- They are tried again when a mode is left and every 100 ms; never from SafeState, which a try would raise again.

local M = {}

local RETRY_MS = 100
-- Right after a key the editor counts as busy for a moment.
local SOON_MS = 10
local EVENTS = { 'ModeChanged', 'CmdlineLeave', 'CmdwinLeave', 'InsertLeave', 'CompleteDone' }

---@type (fun(): boolean)[] each returns true when it is finished
local jobs = {}
local running = false
local scheduled = false
---@type integer?
local group
---@type uv.uv_timer_t?
local timer

local function stop()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

---@param problem string
local function report(problem)
  vim.schedule(function()
    error(problem, 0)
  end)
end

local function run()
  scheduled = false
  if running then
    return
  end
  running = true
  local due = jobs
  jobs = {}
  local left = {}
  for _, job in ipairs(due) do
    local ok, finished = pcall(job)
    if not ok then
      report(finished)
    elseif not finished then
      left[#left + 1] = job
    end
  end
  jobs = vim.list_extend(left, jobs)
  running = false
  if #jobs == 0 then
    stop()
  end
end

-- Inside an autocommand the editor counts as busy: the jobs run right after it.
local function schedule()
  if not scheduled then
    scheduled = true
    vim.schedule(run)
  end
end

local function start()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup('smith.waiting', { clear = true })
  vim.api.nvim_create_autocmd(EVENTS, { group = group, callback = schedule })
  timer = assert((vim.uv or vim.loop).new_timer())
  timer:start(RETRY_MS, RETRY_MS, vim.schedule_wrap(run))
end

--- Tries `job` in the next tick and again until it returns true; one that raises is dropped and its error shown.
---@param job fun(): boolean
function M.add(job)
  jobs[#jobs + 1] = job
  start()
  schedule()
end

--- Like `add`, without a first try: the caller has just made it.
---@param job fun(): boolean
function M.retry(job)
  jobs[#jobs + 1] = job
  start()
  vim.defer_fn(run, SOON_MS)
end

return M
