/* A module with markers, built by kbuild and never loaded. */
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "simple_marker.h"

static DEFINE_STATIC_KEY_FALSE(marked_key);
static int marked_param = 3;
module_param(marked_param, int, 0644);

static noinline int marked_step(int value)
{
    value = value * 3 + marked_param;
    simple_mark(marked:step, "%d", value);
    WARN_ON(value == 7);
    return value;
}

static noinline ssize_t marked_copy(char __user *to, unsigned long n)
{
    char small[8] = "marked";

    if (n > sizeof small) {
        simple_mark(marked:large, "%lu", n);
        return -EINVAL;
    }
    if (put_user(small[n], to)) {
        simple_mark(marked:fault, "%lu", n);
        return -EFAULT;
    }
    simple_mark(marked:copied, "%lu", n);
    return n;
}

static int marked_get(char *buffer, const struct kernel_param *param)
{
    if (static_branch_unlikely(&marked_key)) {
        simple_mark(marked:key, "%s", buffer);
        buffer[0] = 1;
    }
    return marked_step(buffer[0]) + (int)marked_copy((char __user *)buffer, buffer[1]);
}

static const struct kernel_param_ops marked_ops = { .get = marked_get };
module_param_cb(all, &marked_ops, NULL, 0444);

static int __init marked_init(void)
{
    simple_mark(marked:init, "%d", marked_param);
    return 0;
}

static void __exit marked_exit(void)
{
    simple_mark(marked:exit, "");
}

module_init(marked_init);
module_exit(marked_exit);
MODULE_LICENSE("GPL");
